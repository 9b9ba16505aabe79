/// @file
/// Internal, except for `block_size`. Blocks of one size, of which resources and pools for C are
/// made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/address.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/debug/place.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0 {

class registry;

/// One of several sizes, and how many blocks it has.
struct block_size {
  std::size_t bytes = 0;   ///< as `block_bytes` of block_resource_options
  std::size_t blocks = 0;  ///< as `blocks` there
};

namespace detail {

/// Sizes of blocks are multiples of it, so that none share a byte of a sanitizer's shadow.
inline constexpr std::size_t granule = 8;

/// Largest alignment of a block.
inline constexpr std::size_t most_block_alignment = 4096;

[[nodiscard]] constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

struct block_checks;
class registration;

/// What blocks of every size have in common.
struct block_settings {
  std::size_t alignment;
  std::string_view name;
  std::size_t max_cached;
  bool checked;
  lido::registry* registry;
};

/// Why the options are invalid.
enum class block_problem : std::uint8_t { none, bytes, alignment, blocks, max_cached, memory };

/// Looks at what can be seen before any memory is asked for.
[[nodiscard]] block_problem find_problem(const block_settings& options,
                                         const block_size& size) noexcept;

/// The size that blocks have, if `bytes` are asked for. Requires: there is no problem.
[[nodiscard]] std::size_t rounded_bytes(const block_settings& options, std::size_t bytes) noexcept;

/// Alignment of the memory that the blocks lie in.
[[nodiscard]] std::size_t memory_alignment(const block_settings& options) noexcept;

/// Blocks of one size side by side. Thread-safe; progress as of `slot_allocator`.
class block_store {
 public:
  /// The memory stays the caller's. Throws std::bad_alloc. Requires: no problem is found in these
  /// options, and `size` is rounded.
  block_store(const block_settings& options, block_size size, std::byte* memory);
  block_store(const block_store&) = delete;
  block_store& operator=(const block_store&) = delete;
  ~block_store();

  /// Rounded.
  [[nodiscard]] std::size_t block_bytes() const noexcept { return block_bytes_; }

  /// A free block of the thread's cache. After false, `acquire_after_miss` must follow.
  /// Requires: wanted <= block_bytes().
  [[nodiscard, LIDO_ALWAYS_INLINE]] bool try_hit(void*& block, std::size_t wanted) noexcept {
    const bool hit = slots_.try_hit(block);
    if (hit) [[likely]] {
      open(block, wanted);
    }
    return hit;
  }

  /// A free block; null when there is none.
  [[nodiscard]] void* acquire_after_miss(std::size_t wanted, place at) noexcept;

  /// Requires: `block` is from here.
  [[LIDO_ALWAYS_INLINE]] void release(void* block) noexcept {
    if (poisons_) {
      refuse_free(block);
      poison(block, block_bytes_);
    }
    slots_.release(block);
  }

  /// Where blocks are checked. False: the release is wrong, reported and without effect.
  bool release_checked(void* block, place at) noexcept;
  [[nodiscard]] bool is_checked() const noexcept { return checks_ != nullptr; }

  /// Whether `address` is within a block that `release` takes.
  [[nodiscard, LIDO_ALWAYS_INLINE]] bool may_hit(const void* address) const noexcept {
    return distance_to(address) < unchecked_bytes_;
  }

  [[nodiscard, LIDO_ALWAYS_INLINE]] bool owns(const void* address) const noexcept {
    return distance_to(address) < bytes_;
  }

  /// Returns statistics, counted in blocks.
  [[nodiscard]] pool_stats stats() const noexcept;
  /// Requests that found no block free.
  [[nodiscard]] std::uint64_t overflowed() const noexcept { return slots_.count_exhausted(); }
  [[nodiscard]] std::string_view name() const noexcept { return slots_.name(); }

  /// Once, after construction. Throws std::bad_alloc.
  void enter(registry& where, std::string_view name);

 private:
  [[nodiscard, LIDO_ALWAYS_INLINE]] std::uintptr_t distance_to(const void* address) const noexcept {
    return address_bits(address) - first_;
  }
  /// Free blocks are poisoned, to the first byte.
  static void refuse_free([[maybe_unused]] void* block) noexcept {
#if LIDO_POISON_FREE_SLOTS
    if (__asan_address_is_poisoned(block) != 0) {
      report_release(block);
    }
#endif
  }
  void open(const void* block, std::size_t wanted) const noexcept {
    if (poisons_) {
      unpoison(block, wanted > 0 ? wanted : 1);  // not all, or it would look free
    }
  }

  [[nodiscard]] std::byte* memory() const noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr)
    return reinterpret_cast<std::byte*>(first_);
  }

  std::size_t block_bytes_;
  std::uintptr_t first_;         ///< address of the memory
  std::size_t bytes_;            ///< of the memory
  std::size_t unchecked_bytes_;  ///< of the memory: all or, of checked blocks, none
  bool poisons_;  ///< as the library was built: a program with AddressSanitizer may use one without
  slot_allocator slots_;
  std::unique_ptr<block_checks> checks_;  ///< null: none
  std::unique_ptr<registration> entry_;   ///< null: in no registry
};

}  // namespace detail
}  // namespace lido::inline v0
