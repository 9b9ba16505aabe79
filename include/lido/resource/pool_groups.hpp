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
/// when a key is first used, and removes groups that have neither resources nor waiters.
class pool_groups {
 public:
  /// `keys` is null in a pool without keys.
  pool_groups(kernel_shell& shell, const pool_settings& settings,
              std::shared_ptr<key_table> keys) noexcept
      : shell_(shell), settings_(settings), keys_(std::move(keys)) {}

  [[nodiscard]] bool has_keys() const noexcept { return keys_ != nullptr; }
  /// Returns the table of keys. Requires: `has_keys()`.
  [[nodiscard, LIDO_ASSERTS]] key_table& keys() const noexcept {
    LIDO_ASSERT(has_keys(), "the keys of a pool without any");
    return *keys_;
  }
  /// Returns the main group. Requires: the pool has no keys, and the main group was added.
  [[nodiscard, LIDO_ASSERTS]] idle_cache& main() const noexcept {
    LIDO_ASSERT(main_ != nullptr, "the main group of a pool with keys, or before it was added");
    return *main_;
  }

  /// Takes the idle, fresh resource in the lowest position. The caller has to begin the use of the
  /// resource. `key` is null in a pool without keys. Throws whatever looking up the key throws.
  [[nodiscard]] slot_grant take_lowest(const sought_key* key) const;
  /// Prepares `key` if the pool certainly does not know it, so that the caller can skip the
  /// look-up. Returns false if `key` is null, or if the pool may know the key. Throws whatever
  /// preparing the key throws.
  [[nodiscard]] bool prepare_new(sought_key* key) const;
  /// Removes the group of a key under the same conditions as `remove_unused`. Does nothing if the
  /// pool does not know the key. Throws whatever looking up the key throws.
  void remove_if_unused(const sought_key& key);
  /// Returns the generation of the group of `key`, which changes with each flush. Returns 0 if the
  /// key is unknown. Throws whatever looking up the key throws.
  [[nodiscard]] resource_generation generation(const sought_key* key) const;

  // ---- under the pool's mutex -------------------------------------------------------------------

  /// Returns the group of `key`, or null if the key has none. If `key` is null, returns the main
  /// group. Throws whatever looking up the key throws.
  [[nodiscard]] slot_group* find(const sought_key* key) const;
  /// Returns the group of `key`. If the group is missing and the key is prepared, adds the group.
  /// If the key is neither known nor prepared, returns null. If `key` is null, returns the main
  /// group. Throws whatever the functions of sought_key throw.
  [[nodiscard]] slot_group* find_or_add(sought_key* key);
  /// Adds the main group. Throws std::bad_alloc.
  void add_main(std::shared_ptr<factory_hooks> hooks);
  /// Adds the group of a new key. Called by `sought_key::add`. Throws std::bad_alloc.
  idle_cache& add(std::shared_ptr<factory_hooks> hooks, const known_key& key, std::string text);
  /// Removes all groups that have neither resources nor waiters, together with their keys. Removes
  /// none while a thread may still read a group.
  void remove_unused() noexcept;

 private:
  void remove_if_unused(slot_group& group) noexcept;

  kernel_shell& shell_;
  const pool_settings& settings_;
  const std::shared_ptr<key_table> keys_;
  idle_cache* main_ = nullptr;
};

}  // namespace lido::inline v0::detail
