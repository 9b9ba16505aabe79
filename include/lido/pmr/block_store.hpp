/// @file
/// Internal, except for `block_size`. Blocks of one size, for resources and pools for C.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/address.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/placed.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/debug/slot_shadow.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0 {

class memory_source;
class option_problem;
class registry;

/// A size of blocks, and the number of blocks of that size.
struct block_size {
  std::size_t bytes = 0;   ///< size of a block, as in block_resource_options
  std::size_t blocks = 0;  ///< number of blocks, as in block_resource_options
};

namespace detail {

/// Unit of block sizes. It ensures that no two blocks share a byte of a sanitizer's shadow memory.
inline constexpr std::size_t granule = 8;

/// Largest possible alignment of a block in memory of the system.
inline constexpr std::size_t most_block_alignment = 4096;

[[nodiscard]] constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

struct block_checks;
struct block_entry;
class memory_cursor;

/// Settings that are the same for blocks of all sizes.
struct block_settings {
  std::size_t alignment;
  std::string_view name;
  std::size_t max_cached;
  bool checked;
  lido::registry* registry;
  memory_source* memory = nullptr;  ///< memory of the program; null for memory of the system
};

/// Reasons why options are invalid.
enum class block_problem : std::uint8_t { none, bytes, alignment, blocks, memory };

/// Returns the first problem of the options that can be found before any memory is requested.
[[nodiscard]] block_problem find_problem(const block_settings& options,
                                         const block_size& size) noexcept;

/// Returns the size of a block for requests of `bytes` bytes. Requires: find_problem finds no
/// problem.
[[nodiscard]] std::size_t rounded_bytes(const block_settings& options, std::size_t bytes) noexcept;

/// Returns the alignment of the memory that contains the blocks.
[[nodiscard]] std::size_t memory_alignment(const block_settings& options) noexcept;

/// A store of adjacent blocks of one size. Thread-safe; its progress is that of `slot_allocator`.
class block_store {
 public:
  /// Divides `memory`, which the caller owns, into blocks. The tables are in memory from `own`, or
  /// in memory of the system if `own` is null. Throws std::bad_alloc. Requires: find_problem finds
  /// no problem in the options, and `size` is rounded.
  block_store(const block_settings& options, block_size size, std::byte* memory,
              memory_cursor* own = nullptr);
  /// Takes from `memory` what the constructor takes from `own`, in the same order.
  static void take_tables(memory_cursor& memory, const block_settings& options,
                          const block_size& size) noexcept;
  block_store(const block_store&) = delete;
  block_store& operator=(const block_store&) = delete;
  ~block_store();

  /// Returns the size of a block after rounding.
  [[nodiscard]] std::size_t block_bytes() const noexcept { return block_bytes_; }

  /// Takes a free block from the thread's cache. If it returns false, the caller must call
  /// `acquire_after_miss`. Requires: wanted <= block_bytes().
  [[nodiscard, LIDO_FAST_PATH]] bool try_hit(void*& block, std::size_t wanted) noexcept {
    LIDO_ASSERT(wanted <= block_bytes_, "a request that is larger than a block");
    const bool hit = slots_.try_hit(block);
    if (hit) [[likely]] {
      open(block, wanted);
    }
    return hit;
  }

  /// Returns a free block, or null if there is none.
  [[nodiscard]] void* acquire_after_miss(std::size_t wanted, code_address at) noexcept;

  /// Releases a block. Requires: `block` came from this store.
  [[LIDO_FAST_PATH]] void release(void* block) noexcept {
    LIDO_ASSERT(owns(block) && distance_to(block) % block_bytes_ == 0,
                "release of an address within a block");
    if (poisons_) {
      refuse_free(block);
      poison(block, block_bytes_);
    }
    slots_.release(block);
  }

  /// Releases a checked block. If the release is wrong, reports it and returns false.
  bool release_checked(void* block, code_address at) noexcept;
  [[nodiscard]] bool is_checked() const noexcept { return checks_ != nullptr; }

  /// Makes all blocks free. Requires: no other thread is in a call to the store.
  void release_all(code_address at) noexcept;

  /// Returns true if `address` is within a block that `release` accepts.
  [[nodiscard, LIDO_FAST_PATH]] bool may_hit(const void* address) const noexcept {
    return distance_to(address) < unchecked_bytes_;
  }

  [[nodiscard, LIDO_FAST_PATH]] bool owns(const void* address) const noexcept {
    return distance_to(address) < bytes_;
  }

  /// Returns the statistics, in which a slot is a block.
  [[nodiscard]] slot_pool_stats stats() const noexcept;
  /// Returns the number of requests that found no free block.
  [[nodiscard]] std::uint64_t overflowed() const noexcept { return slots_.count_exhausted(); }
  [[nodiscard]] std::string_view name() const noexcept { return slots_.name(); }

  /// Registers the blocks. If `with_size` is true, the size of a block follows the name. Called at
  /// most once, after construction. Takes memory as the constructor does. Throws std::bad_alloc.
  void enter(registry& where, bool with_size, memory_cursor* own);
  /// Takes from `memory` what `enter` takes from `own`, in the same order.
  static void take_entry(memory_cursor& memory, std::string_view name, std::size_t block_bytes,
                         bool with_size) noexcept;

 private:
  [[nodiscard, LIDO_FAST_PATH]] std::uintptr_t distance_to(const void* address) const noexcept {
    return address_bits(address) - first_;
  }
  /// Reports a double release if the first byte of `block` is poisoned, since that byte is poisoned
  /// only in free blocks.
  static void refuse_free([[maybe_unused]] void* block) noexcept {
#if LIDO_POISON_FREE_SLOTS
    if (__asan_address_is_poisoned(block) != 0) {
      report_release(block);
    }
#endif
  }
  void open(const void* block, std::size_t wanted) const noexcept {
    if (poisons_) {
      unpoison(block, wanted > 0 ? wanted : 1);  // never 0 bytes, or the block would look free
    }
  }

  [[nodiscard]] std::byte* memory() const noexcept {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr)
    return reinterpret_cast<std::byte*>(first_);
  }

  std::size_t block_bytes_;
  std::uintptr_t first_;         ///< address of the memory
  std::size_t bytes_;            ///< bytes of the memory
  std::size_t unchecked_bytes_;  ///< bytes that `release` accepts: all, or 0 if checked
  bool poisons_;  ///< the library is built with AddressSanitizer, not only the program
  slot_allocator slots_;
  placed_ptr<block_checks> checks_;  ///< null if the blocks are not checked
  placed_ptr<block_entry> entry_;    ///< null if the blocks are in no registry
};

}  // namespace detail
}  // namespace lido::inline v0
