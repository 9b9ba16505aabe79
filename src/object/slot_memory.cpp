#include <algorithm>
#include <new>
#include <type_traits>

#include "../platform/platform.hpp"
#include "lido/base/address_space.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/object/pool_slots.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

namespace {

std::size_t alignment_of(const slot_layout& layout) noexcept {
  return (std::max)(layout.alignment, cache_line);
}

}  // namespace

// The state of an empty slot is a zero byte, so the state of a slot need not be written before the
// slot is used.
slot_memory::slot_memory(const slot_layout& layout, std::uint32_t capacity, bool grows,
                         std::string_view pool_name)
    : states_(layout.has_states ? capacity : 0,
              layout.has_states && grows ? growth::by_steps : growth::none),
      layout_(layout),
      capacity_(capacity) {
  const std::size_t bytes = layout_.size * capacity_;
  if (grows) {
    addresses_ = new address_space(bytes, alignment_of(layout_), pool_name);
    first_ = addresses_->data();
  } else {
    first_ = static_cast<std::byte*>(allocate_aligned(bytes, alignment_of(layout_), pool_name));
    // relaxed: no other thread knows the pool while it is being constructed
    backed_.store(capacity_, std::memory_order_relaxed);
  }
}

slot_memory::parts slot_memory::take_parts(memory_cursor& memory, const slot_layout& layout,
                                           std::uint32_t capacity) noexcept {
  std::byte* const slots = memory.take(layout.size * capacity, alignment_of(layout));
  std::byte* const states =
      memory.take_zeros(layout.has_states ? capacity * sizeof(state) : 0, alignof(state));
  std::byte* const records = memory.take(layout.record_bytes * capacity, cache_line);
  return {slots, states, records};
}

slot_memory::slot_memory(const slot_layout& layout, std::uint32_t capacity,
                         memory_cursor& memory) noexcept
    : slot_memory(layout, capacity, take_parts(memory, layout, capacity)) {}

slot_memory::slot_memory(const slot_layout& layout, std::uint32_t capacity,
                         const parts& in) noexcept
    : first_(in.objects),
      states_(layout.has_states ? capacity : 0, zeroed_array<state>::placed{in.states}),
      layout_(layout),
      capacity_(capacity),
      backed_(capacity),
      records_(layout.record_bytes != 0 ? in.records : nullptr),
      is_placed_(true) {}

slot_memory::~slot_memory() {
  if (addresses_ == nullptr && !is_placed_) {
    ::operator delete (first_, std::align_val_t{alignment_of(layout_)});
  }
  delete addresses_;
}

std::size_t slot_memory::bookkeeping() const noexcept {
  return layout_.counts_states ? backed() : 0;
}

// Not instrumented, because AddressSanitizer forbids access to free slots.
LIDO_NO_SANITIZE_ADDRESS void slot_memory::touch() noexcept {
  // Writing zeros is safe because the pool is new, so no thread holds a slot. A checked pool has
  // already filled all of its slots, so they are not touched again.
  const std::size_t page = page_size();
  const std::size_t bytes = layout_.record_bytes != 0 ? 0 : layout_.size * backed();
  volatile std::byte* const first = first_;
  for (std::size_t at = 0; at < bytes; at += page) {
    first[at] = std::byte{0};
  }
  // Slots may begin in the middle of a page, and may therefore end on a page that the loop has not
  // touched.
  if (bytes > 0) {
    first[bytes - 1] = std::byte{0};
  }
  for (slot_index slot = 0; layout_.has_states && slot < backed(); ++slot) {
    LIDO_ASSERT(!has_object(slot), "a slot with an object is touched");
    set_unused(slot, slot_content::empty);
  }
}

int slot_memory::commit(slot_index first, std::uint32_t count) noexcept {
  if (const int error = states_.extend_to(first + count); error != 0) {
    return error;
  }
  const int error = addresses_->commit(layout_.size * first, layout_.size * count);
  if (error == 0) {
    layout_.close_all(first_ + layout_.size * first, count);
    // (1) - this release-store synchronizes-with the acquire-load pool_slots.hpp (3)
    backed_.store((std::max)(backed(), first + count), std::memory_order_release);
  }
  return error;
}

void slot_memory::fill(slot_index first, std::uint32_t count, work_progress& progress) {
  for (slot_index slot = first; slot < first + count; ++slot) {
    if (!has_object(slot)) {
      keeper_->create_in(*this, slot);
      platform::tell_release(address_of(slot));
      progress.note();
    }
  }
}

void slot_memory::vacate(slot_index first, std::uint32_t count, work_progress& progress) noexcept {
  for (slot_index slot = first; keeper_ != nullptr && slot < first + count; ++slot) {
    if (has_object(slot)) {
      platform::tell_acquire(address_of(slot));
      keeper_->destroy_in(*this, slot);
      platform::tell_release(address_of(slot));
      progress.note();
    }
  }
}

int slot_memory::decommit(slot_index first, std::uint32_t count) noexcept {
  // The sanitizer continues to forbid access to the slots, because their addresses belong to the
  // pool as long as the pool lives.
  return addresses_->decommit(layout_.size * first, layout_.size * count);
}

}  // namespace lido::inline v0::detail
