/// @file
/// Public. `block_resource`: blocks of one or several sizes as a std::pmr::memory_resource;
/// `block_allocator<T>`: the same blocks as an allocator for containers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lido/base/assert.hpp"
#include "lido/base/error.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/memory_piece.hpp"
#include "lido/base/option_problem.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/striped_count.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/pmr/block_store.hpp"

namespace lido::inline v0 {

template <class T>
class block_allocator;
class memory_source;
class option_problem;
class registry;

namespace detail {
class memory_cursor;
struct pool_maker;
}  // namespace detail

/// Options of a `block_resource`. Use designated initialisers.
struct block_resource_options {
  /// Size of a block in bytes, at least 1. It is rounded up to a multiple of both the alignment and
  /// 8. The node of a container is larger than its value: std::list adds two pointers,
  /// std::unordered_map one or two words.
  std::size_t block_bytes = 0;

  /// Number of blocks, exactly: 1 to 2^32 - 2.
  std::size_t blocks = 0;

  /// Sizes of blocks, in any order, for a resource with several sizes. In that case, block_bytes
  /// and blocks must be 0. A request gets a block of the smallest size that it fits into. If no
  /// such block is free, `use_larger_blocks` decides whether the request gets a larger one.
  std::vector<block_size> sizes = {};

  /// Alignment of every block, a power of two from 1 to 4096, or any if `memory` is given. Sizes of
  /// blocks are multiples of it, so the default makes blocks of 32 bytes out of 24. Containers
  /// align a node like its type, often to 8: then `.alignment = 8` wastes nothing.
  std::size_t alignment = alignof(std::max_align_t);

  /// Name of the resource, for error messages. The resource copies it.
  std::string_view name = "unnamed";

  /// Largest number of free blocks of one size in one thread's cache, 0 to 1022; see
  /// object_pool_options.
  std::size_t max_cached = 512;

  /// Receives requests that exceed the size or the alignment of every block. If `upstream` is
  /// nullptr, this resource uses the result of std::pmr::get_default_resource() at construction.
  /// The upstream resource must outlive this one, and must be thread-safe if several threads use
  /// this one.
  std::pmr::memory_resource* upstream = nullptr;

  /// If true, a request that finds all blocks of its size in use gets a block of the next larger
  /// size that has a free one. block_stats::served_by_larger counts such requests.
  bool use_larger_blocks = false;

  /// Chooses what happens if no block is free for a request. If true, the resource requests memory
  /// from upstream; if false, it throws no_block.
  bool overflow_to_upstream = false;

  /// If true, detects and reports misuse as an object_pool with `checked_traits` does. In that
  /// case, every operation takes a slow path, and each block needs 128 more bytes.
  bool checked = false;

  /// Registry that lists the resource by name; null for none. If there are several sizes, each is
  /// listed separately, with a name such as `nodes[64]`.
  lido::registry* registry = nullptr;

  /// Provides the memory for blocks and tables; null for memory of the system. All of it is
  /// allocated in the constructor, `block_resource::bytes_needed` returns its size, and the
  /// destructor gives it back. Only the tables of thread caches come from the system. Caches then
  /// hold at most 64 blocks. The source must outlive the resource.
  memory_source* memory = nullptr;
};

/// Statistics of the blocks of one size.
struct block_stats {
  std::size_t block_bytes = 0;  ///< size of a block, after rounding
  slot_pool_stats blocks;       ///< statistics in which a slot is a block
  /// Requests that found all blocks of this size in use. With `use_larger_blocks`, requests for
  /// smaller sizes are included, so the largest size counts every request that got no block.
  std::uint64_t overflowed = 0;
  /// Requests for this size that found all its blocks in use, and got a larger block.
  std::uint64_t served_by_larger = 0;
  std::uint64_t upstream_requests = 0;  ///< requests of any size that were sent upstream
  std::size_t largest_upstream = 0;     ///< bytes of the largest request sent upstream
};

namespace detail {

class block_plan;

/// Options that are passed to the compiled library. They contain no standard containers, because
/// those of a program with _GLIBCXX_DEBUG differ from those of the library.
struct resource_settings {
  block_settings blocks;
  block_size only;  ///< size and number of blocks, if there is one size
  std::pmr::memory_resource* upstream;
  bool use_larger_blocks;
  bool overflow_to_upstream;
};

/// Holds a store for each size of blocks except the smallest, in ascending order of sizes. Finds
/// the store for a request.
class larger_blocks {
 public:
  larger_blocks() noexcept = default;
  larger_blocks(const larger_blocks&) = delete;
  larger_blocks& operator=(const larger_blocks&) = delete;
  ~larger_blocks();

  /// Makes the stores. Takes memory as block_store does. Called at most once. Throws
  /// std::bad_alloc; some of the stores may then exist.
  void make(const resource_settings& options, const block_plan& plan, std::byte* memory,
            memory_cursor* own);
  /// Takes from `memory` what `make` takes from `own`, in the same order.
  static void take_tables(memory_cursor& memory, const resource_settings& options,
                          const block_plan& plan) noexcept;

  [[nodiscard]] std::span<block_store> all() const noexcept { return {stores_, count_}; }

  // Among the stores in this object, return the one with the smallest blocks that the request fits
  // into. Return null if no store fits, or if blocks of the smallest size suffice, whose store is
  // not in this object. `find_listed` is for requests of up to most_listed_ bytes, and
  // `find_unlisted` for larger ones.
  [[nodiscard, LIDO_FAST_PATH]] block_store* find_listed(std::size_t bytes) const noexcept;
  [[nodiscard]] block_store* find_unlisted(std::size_t bytes) const noexcept;

  /// Returns true if larger blocks serve requests that find all blocks of their size in use.
  [[nodiscard]] bool serve_smaller() const noexcept { return served_ != nullptr; }
  /// Returns a block larger than those of size number `size`, which are all in use. Returns null if
  /// there is none. Requires: serve_smaller().
  [[nodiscard]] void* take_instead_of(std::size_t size, std::size_t bytes,
                                      code_address at) noexcept;
  /// Returns the number of requests for size number `size` that got a larger block.
  [[nodiscard]] std::uint64_t count_served(std::size_t size) const noexcept;

 private:
  struct parts;
  [[nodiscard]] static parts parts_for(const resource_settings& options,
                                       const block_plan& plan) noexcept;

  /// Upper limit of `most_listed_`, in bytes.
  static constexpr std::size_t most_ever_listed = 4096;

  std::unique_ptr<aligned_buffer> memory_;  ///< memory of all below; null if there is none
  block_store* none_ = nullptr;             ///< the list if there are no stores
  std::size_t most_listed_ = 0;
  block_store** listed_ = &none_;  ///< the store for each number of granules, or null
  block_store* stores_ = nullptr;
  std::size_t count_ = 0;
  /// For each size except the largest, the number of requests that got a larger block; null unless
  /// larger blocks serve such requests.
  striped_count* served_ = nullptr;
};

}  // namespace detail

/// Provides blocks for node-based containers, with the free list and the thread caches of an
/// `object_pool`.
///
/// A request gets a block of the smallest size that it fits into. A request that is larger, or
/// needs a larger alignment, is sent upstream. If upstream must not be used, or throws
/// std::bad_alloc, the resource throws no_block, which is a std::bad_alloc. Other exceptions of
/// upstream propagate. Deallocation finds the origin of memory by its address. A resource is equal
/// only to itself. Size classes: Bonwick, "The Slab Allocator", USENIX 1994.
///
/// Thread-safe. Progress: allocating and deallocating a block is like acquiring and releasing an
/// object of an object_pool. An operation that needs only the thread's cache is wait-free, without
/// a read-modify-write or a fence. Requests that are sent upstream progress as upstream does.
///
/// A resource cannot be moved. Requires on destruction: no block is used or deallocated afterwards,
/// and no other thread is in a call. The destructor frees all blocks, including those in use.
/// Memory from upstream that was not deallocated stays allocated there.
class block_resource final : public std::pmr::memory_resource {
 public:
  /// Type of the options.
  using options_type = block_resource_options;

  /// Makes a resource with `options`. Throws std::invalid_argument, with the name of the resource,
  /// if an option is invalid or if two sizes are equal after rounding. Also throws
  /// std::bad_array_new_length or std::bad_alloc.
  explicit block_resource(const block_resource_options& options)
      : block_resource(settings_of(options), options.sizes) {}
  block_resource(const block_resource&) = delete;
  block_resource& operator=(const block_resource&) = delete;
  ~block_resource() override = default;

  /// Allocates as `allocate` does, but returns null instead of throwing. A refusal then costs as
  /// little as one of an object pool, unless upstream refuses the request by an exception. In a
  /// program without exceptions, an upstream that throws may end the program.
  [[nodiscard, LIDO_ASSERTS]] void* try_allocate(
      std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    if (bytes <= smallest_.block_bytes() && alignment <= alignment_) [[likely]] {
      if (void* block = nullptr; smallest_.try_hit(block, bytes)) [[likely]] {
        return block;
      }
    }
    return try_take_after_miss(bytes, alignment);
  }

  /// Makes all blocks free, including those in use. Serves programs that restart all their
  /// containers at once, each frame for example. Destroys no object. Memory from upstream stays
  /// allocated there, because the resource has no list of it. Blocking: waits for threads that are
  /// exiting.
  ///
  /// Takes time in proportion to the number of blocks that have been used since the previous
  /// release, far less for each than a deallocation does, and never touches their memory. A checked
  /// resource visits all its blocks, and AddressSanitizer marks all their memory.
  ///
  /// Requires: no other thread is in a call to the resource, and no block that was in use is used
  /// or deallocated afterwards.
  void release() noexcept;

  /// Returns true if `address` is within one of the blocks, in use or not. Wait-free.
  [[nodiscard]] bool owns(const void* address) const noexcept;

  /// Returns the alignment of every block, in bytes.
  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  /// Returns the name, which stays valid for the lifetime of the resource.
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  /// Returns the resource that receives requests which no block fits.
  [[nodiscard]] std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

  /// Returns exactly how many bytes a resource with `options` takes from `options.memory`, whose
  /// first byte must be aligned to 128 bytes and to the alignment of blocks. Requires: a resource
  /// can be made with `options`, apart from how many bytes the source has.
  [[nodiscard]] static std::size_t bytes_needed(const block_resource_options& options) noexcept {
    return bytes_needed(settings_of(options), options.sizes);
  }

  /// Returns the number of different block sizes.
  [[nodiscard]] std::size_t count_sizes() const noexcept;

  /// Returns a snapshot of the statistics for one size of blocks; size 0 is the smallest. See
  /// pool_stats for what a snapshot guarantees. Wait-free. Requires: size < count_sizes().
  [[nodiscard]] block_stats stats(std::size_t size = 0) const noexcept;

  /// Returns the number of all requests that have been sent upstream, for any reason. Wait-free.
  [[nodiscard]] std::uint64_t upstream_requests() const noexcept;

 private:
  template <class T>
  friend class block_allocator;

  friend detail::pool_maker;

  [[nodiscard]] static detail::resource_settings settings_of(
      const block_resource_options& options) noexcept {
    return {.blocks = {.alignment = options.alignment,
                       .name = options.name,
                       .max_cached = options.max_cached,
                       .checked = options.checked,
                       .registry = options.registry,
                       .memory = options.memory},
            .only = {options.block_bytes, options.blocks},
            .upstream = options.upstream,
            .use_larger_blocks = options.use_larger_blocks,
            .overflow_to_upstream = options.overflow_to_upstream};
  }
  [[nodiscard]] static std::size_t bytes_needed(const detail::resource_settings& options,
                                                std::span<const block_size> sizes) noexcept;
  [[nodiscard]] static option_problem find_problem(const detail::resource_settings& options,
                                                   std::span<const block_size> sizes) noexcept;

  [[nodiscard]] static option_problem find_problem(const block_resource_options& options) noexcept {
    return find_problem(settings_of(options), options.sizes);
  }

  block_resource(const detail::resource_settings& options, std::span<const block_size> sizes);
  block_resource(const detail::resource_settings& options, const detail::block_plan& plan,
                 detail::memory_cursor own);

  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override;

  // Inlined if the type of the resource is known.
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
  /// Continues try_allocate. Requires: if the request fits into the smallest blocks, the caller has
  /// missed in the thread's cache of them.
  [[nodiscard, LIDO_SLOW_PATH]] void* try_take_after_miss(std::size_t bytes,
                                                          std::size_t alignment) noexcept;
  [[nodiscard]] detail::block_store* find_store(std::size_t bytes) noexcept;
  [[nodiscard]] void* take_past_cache(detail::block_store& store, std::size_t bytes,
                                      detail::code_address at) noexcept;
  [[nodiscard]] void* ask_upstream(std::size_t bytes, std::size_t alignment);
  [[LIDO_SLOW_PATH]] void give_larger(void* address, std::size_t bytes, std::size_t alignment);
  [[LIDO_SLOW_PATH]] void give_other(void* address, std::size_t bytes, std::size_t alignment,
                                     detail::code_address at);
  [[LIDO_SLOW_PATH]] void give_checked(void* address, std::size_t bytes, std::size_t alignment,
                                       detail::code_address at);
  /// Returns the store with the smallest blocks among those for which `fits` returns true, or null
  /// if there is none.
  template <class Resource, class Fits>
  [[nodiscard]] static auto first(Resource& resource, const Fits& fits) noexcept
      -> decltype(&resource.smallest_);

  std::size_t alignment_;
  detail::memory_piece piece_;     ///< memory of the program; empty if the system's is used
  detail::aligned_buffer memory_;  ///< memory of all blocks
  detail::block_store smallest_;
  detail::larger_blocks larger_;
  std::pmr::memory_resource* upstream_;
  bool overflow_to_upstream_;
  std::string_view name_;  ///< owned by the store of the smallest blocks
  detail::atomic<std::size_t> largest_upstream_{0};
  detail::striped_count misfits_;  ///< upstream requests, except the overflow counted by stores
};

/// Allocator for `std::list`, `std::map`, `std::unordered_map` and other node-based containers. It
/// takes the nodes from the blocks of one resource. It works like
/// `std::pmr::polymorphic_allocator`, but makes no virtual call, and is moved or swapped along with
/// a container.
///
/// An allocator is a pointer to the resource, which must outlive the container. Two allocators are
/// equal if they share a resource. Thread-safe, as the resource is.
template <class T>
class block_allocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  /// Makes an allocator that uses `resource`.
  // NOLINTNEXTLINE(google-explicit-constructor): as containers take it: `list{resource}`
  block_allocator(block_resource& resource) noexcept : resource_(&resource) {}
  /// Makes an allocator that uses the resource of `other`.
  template <class U>
  // NOLINTNEXTLINE(google-explicit-constructor): containers rebind
  block_allocator(const block_allocator<U>& other) noexcept : resource_(other.resource()) {}

  /// Returns memory for `count` objects. Throws std::bad_array_new_length if their size exceeds
  /// PTRDIFF_MAX. Also throws std::bad_alloc, and whatever upstream throws.
  [[nodiscard, LIDO_ASSERTS]] T* allocate(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) [[unlikely]] {
      detail::throw_bad_array_length();
    }
    return static_cast<T*>(resource_->take(count * sizeof(T), alignof(T)));
  }

  /// Deallocates memory that `allocate(count)` of an equal allocator returned. Any thread may call
  /// this. Destroys no object. Progress: for a block, the same as a release of an object_pool;
  /// otherwise, the same as upstream.
  [[LIDO_ALWAYS_INLINE, LIDO_ASSERTS]] void deallocate(T* objects, std::size_t count) noexcept {
    resource_->give(objects, count * sizeof(T), alignof(T));
  }

  /// Returns the resource.
  [[nodiscard]] block_resource* resource() const noexcept { return resource_; }

 private:
  block_resource* resource_;
};

/// Returns true if the allocators share a resource.
template <class T, class U>
[[nodiscard]] bool operator==(const block_allocator<T>& left,
                              const block_allocator<U>& right) noexcept {
  return left.resource() == right.resource();
}

}  // namespace lido::inline v0
