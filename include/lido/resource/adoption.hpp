/// @file
/// Internal. A slot in a pool for a resource from outside.
#pragma once

#include <memory>

#include "lido/base/assert.hpp"
#include "lido/resource/key_table.hpp"
#include "lido/resource/slot.hpp"

namespace lido::inline v0::detail {

class pool_core;

/// A slot reserved for a resource that the pool did not make. It counts as a create in progress
/// until `fill`, or until the destructor gives it back.
class adoption {
 public:
  /// Throws what a sought_key throws.
  adoption(pool_core& core, sought_key* key);
  adoption(const adoption&) = delete;
  adoption& operator=(const adoption&) = delete;
  ~adoption() { end(/*made=*/false); }

  /// Returns null if the pool is full or closed.
  [[nodiscard]] pool_slot* slot() const noexcept { return slot_; }
  /// Gives the resource in the slot to the pool. Requires: `slot()` is not null, and has a
  /// resource.
  [[LIDO_ASSERTS]] void fill() noexcept {
    LIDO_ASSERT(slot_ != nullptr, "an adoption without a slot is filled");
    end(/*made=*/true);
  }

 private:
  void end(bool made) noexcept;

  const std::shared_ptr<pool_core> core_;  // a callback may drop the last other reference
  pool_slot* slot_ = nullptr;
};

}  // namespace lido::inline v0::detail
