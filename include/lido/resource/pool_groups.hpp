/// @file
/// Internal. The groups of a pool, by key.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/resource/idle_cache.hpp"
#include "lido/resource/key_table.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

class factory_hooks;
class kernel_shell;
class slot_group;

/// The groups of a pool: one for each key, or the main group of a pool without keys. Adds a group
/// when a key is first sought, and removes those without resources and waiters.
class pool_groups {
 public:
  /// `keys`: null in a pool without keys.
  pool_groups(kernel_shell& shell, const pool_settings& settings,
              std::shared_ptr<key_table> keys) noexcept
      : shell_(shell), settings_(settings), keys_(std::move(keys)) {}

  [[nodiscard]] bool has_keys() const noexcept { return keys_ != nullptr; }
  /// Requires: `has_keys`.
  [[nodiscard, LIDO_ASSERTS]] key_table& keys() const noexcept {
    LIDO_ASSERT(has_keys(), "the keys of a pool without any");
    return *keys_;
  }
  /// Requires: not `has_keys`, and the main group was added.
  [[nodiscard, LIDO_ASSERTS]] idle_cache& main() const noexcept {
    LIDO_ASSERT(main_ != nullptr, "the main group of a pool with keys, or before it was added");
    return *main_;
  }

  /// Takes the idle resource in the lowest position, if it is fresh. The caller begins its use.
  /// `key`: null in a pool without keys. Throws what a sought_key throws.
  [[nodiscard]] slot_grant take_lowest(const sought_key* key) const;
  /// Prepares a key that the pool certainly does not know, which saves a look-up. Returns false if
  /// the key may be known, or is null. Throws what a sought_key throws.
  [[nodiscard]] bool prepare_new(sought_key* key) const;
  /// Removes the group of a key, if the pool knows it, as `remove_unused`. Throws what looking for
  /// a key throws.
  void remove_if_unused(const sought_key& key);
  /// Returns how often a group was flushed; 0 if the key is not known. Throws what looking for a
  /// key throws.
  [[nodiscard]] resource_generation generation(const sought_key* key) const;

  // ---- under the pool's mutex -------------------------------------------------------------------

  /// Returns the group of a key, or null if it has none; for a null key the main group. Throws what
  /// looking for a key throws.
  [[nodiscard]] slot_group* find(const sought_key* key) const;
  /// Returns the group of a key, which it adds if the key is prepared; null if the key is neither
  /// known nor prepared; for a null key the main group. Throws what a sought_key throws.
  [[nodiscard]] slot_group* find_or_add(sought_key* key);
  /// Throws std::bad_alloc.
  void add_main(std::shared_ptr<factory_hooks> hooks);
  /// Adds the group of a new key. For a sought_key. Throws std::bad_alloc.
  idle_cache& add(std::shared_ptr<factory_hooks> hooks, const known_key& key, std::string text);
  /// Removes the groups without resources and waiters, with their keys, unless a thread may still
  /// read one.
  void remove_unused() noexcept;

 private:
  void remove_if_unused(slot_group& group) noexcept;

  kernel_shell& shell_;
  const pool_settings& settings_;
  const std::shared_ptr<key_table> keys_;
  idle_cache* main_ = nullptr;
};

}  // namespace lido::inline v0::detail
