/// @file
/// Internal. The interfaces through which the core of a pool uses keys whose type it does not know.
#pragma once

#include <cstdint>

namespace lido::inline v0::detail {

class idle_cache;
class pool_groups;

/// The part of a stored key that does not depend on the type Key. `known_keys` derives a class that
/// also stores the value of the key.
struct known_key {
  std::uint64_t hash;
};

/// Maps the keys of a pool to their groups. This interface only removes keys. To find or add the
/// group of a key, call the functions of `sought_key`, which holds the key to look up. The table
/// belongs to the core of a pool, and is used only under the pool's mutex.
class key_table {
 public:
  key_table() noexcept = default;
  key_table(const key_table&) = delete;
  key_table& operator=(const key_table&) = delete;
  virtual ~key_table() = default;

  /// Removes the key of a group that has neither resources nor waiters. Returns false, and does
  /// nothing, if comparing keys throws.
  [[nodiscard]] virtual bool forget(const idle_cache& group) noexcept = 0;
};

/// A key that a caller passes to a function of the pool, and the table in which to look it up.
/// Lives only during the call.
class sought_key {
 public:
  sought_key(const sought_key&) = delete;
  sought_key& operator=(const sought_key&) = delete;

  /// Returns the group of the key, or null if the table has none. Throws whatever comparing keys
  /// throws. Requires: the pool's mutex is held.
  [[nodiscard]] virtual idle_cache* find() const = 0;
  /// Copies the key and creates whatever else `add` needs. Called without the mutex. Throws
  /// whatever copying the key or creating the rest throws.
  virtual void prepare() = 0;
  /// Returns the group of the key. If the table has none, adds a group to the table and to
  /// `groups`. Throws std::bad_alloc, or whatever `find` throws. If it throws, it adds nothing.
  /// Requires: the pool's mutex is held.
  [[nodiscard]] virtual idle_cache& add(pool_groups& groups) = 0;
  /// Returns true if `prepare` has created everything that `add` needs.
  [[nodiscard]] bool is_prepared() const noexcept { return is_prepared_; }
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 protected:
  explicit sought_key(std::uint64_t hash) noexcept : hash_(hash) {}
  ~sought_key() = default;
  void set_prepared(bool on) noexcept { is_prepared_ = on; }

 private:
  std::uint64_t hash_;
  bool is_prepared_ = false;
};

}  // namespace lido::inline v0::detail
