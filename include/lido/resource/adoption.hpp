/// @file
/// Internal. A place in a pool for a resource that comes from outside.
#pragma once

#include <memory>

#include "lido/resource/key_table.hpp"
#include "lido/resource/slot.hpp"

namespace lido::inline v0::detail {

class pool_core;

/// A slot of a pool that is to have a resource which the pool did not make. It counts as a create
/// that is under way, until `fill` or the destructor, which gives it back.
class adoption {
 public:
  /// Throws what a sought_key throws.
  adoption(pool_core& core, sought_key* key);
  adoption(const adoption&) = delete;
  adoption& operator=(const adoption&) = delete;
  ~adoption() { end(/*made=*/false); }

  /// Returns null if there is no room, or the pool is closed.
  [[nodiscard]] pool_slot* slot() const noexcept { return slot_; }
  /// Gives the resource in the slot to the pool. Requires: the slot is there, and has one.
  void fill() noexcept { end(/*made=*/true); }

 private:
  void end(bool made) noexcept;

  const std::shared_ptr<pool_core> core_;  // a callback may drop the last other reference
  pool_slot* slot_ = nullptr;
};

}  // namespace lido::inline v0::detail
