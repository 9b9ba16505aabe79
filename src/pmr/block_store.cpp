#include "lido/pmr/block_store.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include "lido/base/assert.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/debug/registry.hpp"
#include "lido/debug/slot_checks.hpp"

namespace lido::inline v0::detail {

namespace {

/// Returns the unit to which block sizes are rounded up.
std::size_t unit_of(const block_settings& options) noexcept {
  return (std::max)(options.alignment, granule);
}

}  // namespace

block_problem find_problem(const block_settings& options, const block_size& size) noexcept {
  if (size.bytes == 0) {
    return block_problem::bytes;
  }
  if (!std::has_single_bit(options.alignment) || options.alignment > most_block_alignment) {
    return block_problem::alignment;
  }
  if (size.blocks == 0 || size.blocks > max_capacity) {
    return block_problem::blocks;
  }
  const std::size_t most = PTRDIFF_MAX / size.blocks;
  return most < unit_of(options) || size.bytes > most - unit_of(options) ? block_problem::memory
                                                                         : block_problem::none;
}

std::size_t rounded_bytes(const block_settings& options, std::size_t bytes) noexcept {
  LIDO_ASSERT(find_problem(options, {bytes, 1}) == block_problem::none, "options with a problem");
  return rounded_up(bytes, unit_of(options));
}

std::size_t memory_alignment(const block_settings& options) noexcept {
  return (std::max)(options.alignment, cache_line);
}

/// Contains the checks of the blocks, and a copy of the name that outlives the checks.
struct block_checks {
  block_checks(std::string_view of, std::byte* first, std::uint32_t blocks, std::size_t bytes)
      : name(of), slots(name, first, blocks, bytes, {bytes, fill_pattern::least_whole}, nullptr) {}

  const std::string name;
  checked_slots slots;
};

block_store::block_store(const block_settings& options, block_size size, std::byte* memory)
    : block_bytes_(size.bytes),
      first_(address_bits(memory)),
      bytes_(size.bytes * size.blocks),
      unchecked_bytes_(options.checked ? 0 : bytes_),
      poisons_(LIDO_POISON_FREE_SLOTS != 0),
      slots_({.geometry = slot_geometry(memory, block_bytes_),
              .capacity = static_cast<std::uint32_t>(size.blocks),
              .caches = options.checked ? cache_kind::none : cache_kind::revocable,
              .max_cached = static_cast<std::uint32_t>(options.max_cached),
              .name = options.name}) {
  LIDO_ASSERT(size.bytes == rounded_bytes(options, size.bytes), "a block size that is not rounded");
  if (options.checked) {
    checks_ = std::make_unique<block_checks>(options.name, memory,
                                             static_cast<std::uint32_t>(size.blocks), block_bytes_);
  }
  poison(memory, bytes_);
}

block_store::~block_store() {
  entry_.reset();
  unpoison(memory(), bytes_);
  checks_.reset();  // the destructor checks all blocks
}

void* block_store::acquire_after_miss(std::size_t wanted, code_address at) noexcept {
  void* const block = slots_.acquire_after_miss();
  if (block == nullptr) {
    return nullptr;
  }
  if (is_checked()) {
    unpoison(block, block_bytes_);
    checks_->slots.begin_use(block, at);
    poison(block, block_bytes_);
  }
  open(block, wanted);
  return block;
}

bool block_store::release_checked(void* block, code_address at) noexcept {
  if (!checks_->slots.try_end_use(block, at)) {
    return false;
  }
  unpoison(block, block_bytes_);
  checks_->slots.watch(block);
  release(block);
  return true;
}

slot_pool_stats block_store::stats() const noexcept {
  slot_pool_stats stats = slots_.stats();
  stats.total_bytes += is_checked() ? checks_->slots.memory() : 0;
  return stats;
}

void block_store::enter(registry& where, std::string_view name) {
  entry_name_ = std::make_unique<char[]>(name.size());  // NOLINT(*-avoid-c-arrays): see there
  (void)name.copy(entry_name_.get(), name.size());
  entry_ = std::make_unique<registration>(where, "block_resource",
                                          std::string_view(entry_name_.get(), name.size()), *this);
}

}  // namespace lido::inline v0::detail
