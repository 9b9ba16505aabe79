#include "lido/pmr/block_store.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <string>

#include "lido/base/error.hpp"
#include "lido/base/slot_geometry.hpp"
#include "lido/concurrency/cache_line.hpp"

namespace lido::detail {

namespace {

constexpr std::size_t most_alignment = 4096;
/// Blocks then share no byte of a sanitizer's shadow.
constexpr std::size_t least_alignment = 8;

void refuse(const block_layout& layout, const std::string& problem) {
  throw_invalid_option(layout.name, problem);
}

/// Refuses a wrong layout before any memory is allocated.
const block_layout& checked(const block_layout& layout) {
  if (layout.block_size == 0) {
    refuse(layout, "block_size 0 is not at least 1");
  }
  if (!std::has_single_bit(layout.alignment) || layout.alignment > most_alignment) {
    refuse(layout, "alignment " + std::to_string(layout.alignment) +
                       " is not a power of two up to " + std::to_string(most_alignment));
  }
  if (layout.capacity == 0 || layout.capacity > max_capacity) {
    refuse(layout, "capacity " + std::to_string(layout.capacity) + " is not between 1 and " +
                       std::to_string(max_capacity));
  }
  if (layout.max_cached > most_cached) {
    refuse(layout, "max_cached " + std::to_string(layout.max_cached) + " is more than " +
                       std::to_string(most_cached));
  }
  return layout;
}

std::size_t rounded_size(const block_layout& layout) {
  const std::size_t unit = std::max(layout.alignment, least_alignment);
  if (layout.block_size > PTRDIFF_MAX - unit) {
    throw std::bad_array_new_length();
  }
  return (layout.block_size + unit - 1) / unit * unit;
}

std::size_t bytes_of(std::size_t block_size, std::size_t capacity) {
  if (capacity > PTRDIFF_MAX / block_size) {
    throw std::bad_array_new_length();
  }
  return block_size * capacity;
}

}  // namespace

block_store::block_store(const block_layout& layout)
    : block_size_(rounded_size(checked(layout))),
      extent_(bytes_of(block_size_, layout.capacity)),
      memory_(extent_, std::max(layout.alignment, cache_line)),
      first_(std::bit_cast<std::uintptr_t>(memory_.data())),
      shadow_(memory_.data(), block_size_, extent_),
      source_(slot_geometry(memory_.data(), block_size_),
              static_cast<std::uint32_t>(layout.capacity), cache_choice::automatic,
              static_cast<std::uint32_t>(layout.max_cached)) {}

void block_store::count_overflow() noexcept {
  // relaxed: a number for statistics
  overflowed_.fetch_add(1, std::memory_order_relaxed);
}

block_stats block_store::stats() const noexcept {
  block_stats stats;
  stats.block_size = block_size_;
  stats.blocks = source_.stats();
  stats.blocks.created = stats.blocks.in_use;
  // relaxed: a number for statistics
  stats.overflowed = overflowed_.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace lido::detail
