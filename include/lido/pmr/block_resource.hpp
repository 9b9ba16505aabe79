/// @file
/// Public. `block_resource`: blocks of one or several sizes as a std::pmr::memory_resource, and
/// `block_allocator<T>`: the same as an allocator of containers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lido/base/error.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/striped_count.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/pmr/block_store.hpp"

namespace lido::inline v0 {

template <class T>
class block_allocator;
class registry;

/// Options of a `block_resource`. Use designated initialisers.
struct block_resource_options {
  /// Bytes of a block, at least 1; rounded up to a multiple of the alignment and of 8. A node of a
  /// container is larger than its value: std::list adds two pointers, std::unordered_map one or two
  /// words.
  std::size_t block_bytes = 0;

  /// Number of blocks, exactly. 1 to 2^32 - 2.
  std::size_t blocks = 0;

  /// Several sizes, in any order, instead of the two above. A request gets a block of the smallest
  /// size that it fits into. If that is exhausted, larger blocks are not used.
  std::vector<block_size> sizes = {};

  /// Alignment of every block, a power of two from 1 to 4096.
  std::size_t alignment = alignof(std::max_align_t);

  /// Name of the resource, copied; appears in errors.
  std::string_view name = "unnamed";

  /// Most free blocks of one size in one thread's cache, 0 to 1022; see object_pool_options.
  std::size_t max_cached = 512;

  /// Resource for requests that no block is large or aligned enough for. nullptr: the value of
  /// std::pmr::get_default_resource() at construction. Must outlive this resource, and be
  /// thread-safe if several threads use this one.
  std::pmr::memory_resource* upstream = nullptr;

  /// Asks upstream, rather than throw no_block, when all blocks of the right size are in use.
  bool overflow_to_upstream = false;

  /// Reports misuse as `checked_traits` do for an object_pool. Every operation then takes a slow
  /// path, and a block needs 128 bytes more.
  bool checked = false;

  /// Registry that lists the resource by name; null for none. With several sizes, each is
  /// registered separately, as in `nodes[64]`.
  lido::registry* registry = nullptr;
};

/// Statistics of the blocks of one size.
struct block_stats {
  std::size_t block_bytes = 0;
  slot_pool_stats blocks;        ///< counts blocks as slots
  std::uint64_t overflowed = 0;  ///< requests that would have fitted, but found no free block
  std::uint64_t upstream_requests = 0;  ///< requests of any size that went upstream
  std::size_t largest_upstream = 0;     ///< bytes of the largest such request
};

namespace detail {

struct block_plan;

/// Options for compiled code, without standard containers: those of a program with _GLIBCXX_DEBUG
/// differ from the library's.
struct resource_settings {
  block_settings blocks;
  block_size only;  ///< the size, if there is only one
  std::pmr::memory_resource* upstream;
  bool overflow_to_upstream;
};

/// Stores of all sizes but the smallest, in ascending order; finds the one for a request.
class larger_blocks {
 public:
  larger_blocks() noexcept = default;
  larger_blocks(const larger_blocks&) = delete;
  larger_blocks& operator=(const larger_blocks&) = delete;
  ~larger_blocks();

  /// Makes the stores, once. Throws std::bad_alloc, and may then have made some.
  void make(const block_settings& options, const block_plan& plan, std::byte* memory);

  [[nodiscard]] std::span<block_store> all() const noexcept { return {stores_, count_}; }

  // Return the store here with the smallest blocks that fit; null if none do, or if blocks of the
  // smallest size do. The first is for requests in the list, the second for others.
  [[nodiscard, LIDO_FAST_PATH]] block_store* find_listed(std::size_t bytes) const noexcept;
  [[nodiscard]] block_store* find_unlisted(std::size_t bytes) const noexcept;

 private:
  /// Most bytes of requests that are looked up, by their number of granules.
  static constexpr std::size_t most_ever_listed = 4096;

  std::unique_ptr<aligned_buffer> memory_;  ///< memory of the stores and the list; null for none
  block_store* none_ = nullptr;             ///< the list if there are no stores
  std::size_t most_listed_ = 0;
  block_store** listed_ = &none_;  ///< stores by granules; null for none
  block_store* stores_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace detail

/// Blocks for containers of nodes, with the free list and the thread caches of an `object_pool`.
///
/// A request gets a block of the smallest size that it fits into. A larger one, or one with a
/// larger alignment, goes upstream. Throws no_block, which is a std::bad_alloc, if upstream must
/// not be asked or throws std::bad_alloc; other exceptions of upstream pass. Deallocation finds the
/// origin of memory by its address. Equal only to itself. Size classes: Bonwick, "The Slab
/// Allocator", USENIX 1994.
///
/// Thread-safe. Progress: blocks are allocated and deallocated as an object_pool acquires and
/// releases. That is wait-free if the thread's cache has or takes the block, and then needs no
/// read-modify-write and no fence. Requests that go upstream progress as upstream does.
///
/// Not movable. Requires on destruction: no block is used or deallocated afterwards, and no other
/// thread is in a call. All blocks are freed with it, also those in use. Memory of upstream that
/// was not returned stays allocated there.
class block_resource final : public std::pmr::memory_resource {
 public:
  /// Throws std::invalid_argument that names the resource, also if two sizes are equal after
  /// rounding; std::bad_array_new_length or std::bad_alloc.
  explicit block_resource(const block_resource_options& options)
      : block_resource({.blocks = {.alignment = options.alignment,
                                   .name = options.name,
                                   .max_cached = options.max_cached,
                                   .checked = options.checked,
                                   .registry = options.registry},
                        .only = {options.block_bytes, options.blocks},
                        .upstream = options.upstream,
                        .overflow_to_upstream = options.overflow_to_upstream},
                       options.sizes) {}
  block_resource(const block_resource&) = delete;
  block_resource& operator=(const block_resource&) = delete;
  ~block_resource() override = default;

  /// Returns true if `address` is within one of the blocks, in use or not. Wait-free.
  [[nodiscard]] bool owns(const void* address) const noexcept;

  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  /// Returns the name, which lives as long as the resource.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

  /// Returns the number of sizes of the blocks.
  [[nodiscard]] std::size_t count_sizes() const noexcept;

  /// Returns a snapshot of the blocks of one size, counted from the smallest; see pool_stats for
  /// what it promises. Wait-free. Requires: size < count_sizes().
  [[nodiscard]] block_stats stats(std::size_t size = 0) const noexcept;

  /// Returns the number of requests that went upstream so far, for whatever reason. Wait-free.
  [[nodiscard]] std::uint64_t upstream_requests() const noexcept;

 private:
  template <class T>
  friend class block_allocator;

  block_resource(const detail::resource_settings& options, std::span<const block_size> sizes);
  block_resource(const detail::resource_settings& options, const detail::block_plan& plan);

  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override;

  // Inlined where the type of the resource is known.
  [[nodiscard, LIDO_FAST_PATH]] void* take(std::size_t bytes, std::size_t alignment) {
    if (bytes > smallest_.block_bytes() || alignment > alignment_) [[unlikely]] {
      return take_larger(bytes, alignment);
    }
    if (void* block = nullptr; smallest_.try_hit(block, bytes)) [[likely]] {
      return block;
    }
    return take_after_miss(smallest_, bytes, alignment);
  }
  [[LIDO_FAST_PATH]] void give(void* address, std::size_t bytes, std::size_t alignment) {
    if (smallest_.may_hit(address)) [[likely]] {
      smallest_.release(address);
    } else {
      give_larger(address, bytes, alignment);
    }
  }

  [[nodiscard, LIDO_SLOW_PATH]] void* take_larger(std::size_t bytes, std::size_t alignment);
  [[nodiscard, LIDO_SLOW_PATH]] void* take_unlisted(std::size_t bytes, std::size_t alignment);
  [[nodiscard, LIDO_SLOW_PATH]] void* take_after_miss(detail::block_store& store, std::size_t bytes,
                                                      std::size_t alignment);
  [[nodiscard, LIDO_SLOW_PATH]] void* take_upstream(std::size_t bytes, std::size_t alignment);
  [[noreturn]] void throw_no_block(std::size_t bytes, std::size_t alignment) const;
  [[LIDO_SLOW_PATH]] void give_larger(void* address, std::size_t bytes, std::size_t alignment);
  [[LIDO_SLOW_PATH]] void give_other(void* address, std::size_t bytes, std::size_t alignment,
                                     detail::code_address at);
  [[LIDO_SLOW_PATH]] void give_checked(void* address, std::size_t bytes, std::size_t alignment,
                                       detail::code_address at);
  /// Returns the first of all stores for which `fits` returns true; null if there is none.
  template <class Resource, class Fits>
  [[nodiscard]] static auto first(Resource& resource, const Fits& fits) noexcept
      -> decltype(&resource.smallest_);

  std::size_t alignment_;
  detail::aligned_buffer memory_;  ///< memory of all blocks
  detail::block_store smallest_;
  detail::larger_blocks larger_;
  std::pmr::memory_resource* upstream_;
  bool overflow_to_upstream_;
  std::string_view name_;  ///< owned by the smallest blocks
  detail::atomic<std::size_t> largest_upstream_{0};
  detail::striped_count misfits_;  ///< requests for which no block is large or aligned enough
};

/// Allocator for a `std::list`, `std::map`, `std::unordered_map` or another container of nodes,
/// with its nodes in the blocks of one resource. Works as `std::pmr::polymorphic_allocator`, but
/// without a virtual call, and moves along when a container is moved or swapped.
///
/// A pointer to the resource, which must outlive the container. Two are equal if they share it.
/// Thread-safe as far as the resource is.
template <class T>
class block_allocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  // NOLINTNEXTLINE(google-explicit-constructor): as containers take it: `list{resource}`
  block_allocator(block_resource& resource) noexcept : resource_(&resource) {}
  template <class U>
  // NOLINTNEXTLINE(google-explicit-constructor): containers rebind
  block_allocator(const block_allocator<U>& other) noexcept : resource_(other.resource()) {}

  /// Returns memory for `count` objects. Throws std::bad_array_new_length if that is too many for
  /// any memory, std::bad_alloc, and what upstream throws.
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) [[unlikely]] {
      detail::throw_bad_array_length();
    }
    return static_cast<T*>(resource_->take(count * sizeof(T), alignof(T)));
  }

  /// Takes back what `allocate(count)` of an equal allocator returned, in any thread; destroys no
  /// object. Progress: as release of an object_pool for a block, else as upstream.
  [[LIDO_ALWAYS_INLINE]] void deallocate(T* objects, std::size_t count) noexcept {
    resource_->give(objects, count * sizeof(T), alignof(T));
  }

  [[nodiscard]] block_resource* resource() const noexcept { return resource_; }

 private:
  block_resource* resource_;
};

template <class T, class U>
[[nodiscard]] bool operator==(const block_allocator<T>& left,
                              const block_allocator<U>& right) noexcept {
  return left.resource() == right.resource();
}

}  // namespace lido::inline v0
