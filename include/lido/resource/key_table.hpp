/// @file
/// Internal. The keys of a pool, as its core knows them: without their type.
#pragma once

#include <cstdint>

namespace lido::inline v0::detail {

class idle_cache;
class pool_groups;

/// A key in a table; a derived class has its value.
struct known_key {
  std::uint64_t hash;
};

/// The groups of all keys: `sought_key` finds and adds one, since it has the key; this forgets one.
/// Belongs to the core of a pool, and is used under its mutex.
class key_table {
 public:
  key_table() noexcept = default;
  key_table(const key_table&) = delete;
  key_table& operator=(const key_table&) = delete;
  virtual ~key_table() = default;

  /// Removes the key of a group without resources and waiters. Returns false, and does nothing, if
  /// the comparison of keys throws.
  [[nodiscard]] virtual bool forget(const idle_cache& group) noexcept = 0;
};

/// A key that a caller names, together with the table. Lives as long as the call.
class sought_key {
 public:
  sought_key(const sought_key&) = delete;
  sought_key& operator=(const sought_key&) = delete;

  /// Returns the group of the key, or null if the table has none. Under the pool's mutex. Throws
  /// what comparing keys throws.
  [[nodiscard]] virtual idle_cache* find() const = 0;
  /// Copies the key and makes what else `add` needs, without the mutex. Throws what that throws.
  virtual void prepare() = 0;
  /// Returns the group of the key, which it adds to the table and to `groups` if it is not there.
  /// Under the pool's mutex. Throws std::bad_alloc, and as `find`; then nothing is added.
  [[nodiscard]] virtual idle_cache& add(pool_groups& groups) = 0;
  /// Returns true if `add` has what it needs.
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
