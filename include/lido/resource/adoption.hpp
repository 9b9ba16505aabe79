/// @file
/// Internal. A slot for a resource that the pool did not create.
#pragma once

#include <memory>

#include "lido/base/assert.hpp"
#include "lido/resource/key_table.hpp"
#include "lido/resource/slot.hpp"

namespace lido::inline v0::detail {

class pool_core;

/// A slot that is reserved for a resource that the pool did not create. The slot counts as a create
/// in progress until `fill` is called, or until the destructor gives the slot back.
class adoption {
 public:
  /// Reserves a slot. Throws whatever the functions of `key` throw.
  adoption(pool_core& core, sought_key* key);
  adoption(const adoption&) = delete;
  adoption& operator=(const adoption&) = delete;
  ~adoption() { end(/*made=*/false); }

  /// Returns the reserved slot, or null if the pool is full or closed.
  [[nodiscard]] pool_slot* slot() const noexcept { return slot_; }
  /// Gives the resource in the slot to the pool. Requires: `slot()` is not null, and holds a
  /// resource.
  [[LIDO_ASSERTS]] void fill() noexcept {
    LIDO_ASSERT(slot_ != nullptr, "an adoption without a slot is filled");
    end(/*made=*/true);
  }

 private:
  void end(bool made) noexcept;

  // Keeps the core alive, since a callback may drop the last other reference to it.
  const std::shared_ptr<pool_core> core_;
  pool_slot* slot_ = nullptr;
};

}  // namespace lido::inline v0::detail
