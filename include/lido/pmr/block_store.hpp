/// @file
/// Public: `block_stats`. Internal: blocks of one size, and where the free ones are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/base/aligned_buffer.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/magazine/slot_source.hpp"

namespace lido {

/// The numbers of the blocks of one size.
struct block_stats {
  std::size_t block_size = 0;    ///< bytes
  pool_stats blocks;             ///< with a block for a slot
  std::uint64_t overflowed = 0;  ///< requests that would have fitted, but found no block free
};

namespace detail {

/// What the user asked for, not yet rounded or checked.
struct block_layout {
  std::string_view name;
  std::size_t block_size;
  std::size_t alignment;
  std::size_t capacity;
  std::size_t max_cached;
};

/// A fixed number of blocks side by side. Thread-safe; progress as of `slot_source`.
class block_store {
 public:
  /// Throws std::invalid_argument, std::bad_array_new_length or std::bad_alloc.
  explicit block_store(const block_layout& layout);

  /// Bytes of a block: as asked, rounded up to a multiple of the alignment and of 8.
  [[nodiscard]] std::size_t block_size() const noexcept { return block_size_; }

  /// A free block of the thread's cache. After false, `acquire_after_miss` must follow.
  /// Requires: wanted <= block_size().
  [[nodiscard, gnu::always_inline]] bool try_hit(void*& block, std::size_t wanted) noexcept {
    const bool hit = source_.try_hit(block);
    if (hit) [[likely]] {
      shadow_.open(block, wanted);
    }
    return hit;
  }

  /// A free block, or null when there is none.
  [[nodiscard]] void* acquire_after_miss(std::size_t wanted) noexcept {
    void* const block = source_.acquire_after_miss();
    if (block != nullptr) {
      shadow_.open(block, wanted);
    }
    return block;
  }

  /// Requires: `block` is from here.
  [[gnu::always_inline]] void release(void* block) noexcept {
    shadow_.close(block);
    source_.release(block);
  }

  [[nodiscard, gnu::always_inline]] bool owns(const void* address) const noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a bit_cast ends clang-tidy 14
    return reinterpret_cast<std::uintptr_t>(address) - first_ < extent_;
  }

  /// Counts a request that found no free block.
  void count_overflow() noexcept;

  [[nodiscard]] block_stats stats() const noexcept;

 private:
  std::size_t block_size_;
  std::size_t extent_;  ///< bytes of all blocks
  aligned_buffer memory_;
  std::uintptr_t first_;  ///< address of the memory
  block_shadow shadow_;
  slot_source<> source_;
  shared_atomic<std::uint64_t> overflowed_{0};
};

}  // namespace detail
}  // namespace lido
