/// @file
/// Public. `block_resource`: a fixed number of blocks of one size as a std::pmr::memory_resource.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>

#include "lido/concurrency/atomic.hpp"
#include "lido/pmr/block_store.hpp"

namespace lido {

template <class T>
class block_allocator;

/// Options of a `block_resource`. Use designated initialisers.
struct block_resource_options {
  /// Bytes of a block, at least 1; rounded up to a multiple of the alignment and of 8. A node of a
  /// container is larger than its value: std::list adds two pointers, std::unordered_map one or two
  /// words.
  std::size_t block_size = 0;

  /// Blocks, exactly. 1 to 2^32 - 2.
  std::size_t capacity = 0;

  /// Of every block. A power of two, 1 to 4096.
  std::size_t alignment = alignof(std::max_align_t);

  /// Copied; appears in errors.
  std::string_view name = "unnamed";

  /// Most free blocks one thread's cache may grow to, 0 to 1022; see object_pool_options.
  std::size_t max_cached = 512;

  /// Serves what no block is large or aligned enough for. nullptr: the value of
  /// std::pmr::get_default_resource() at construction. Must outlive this resource, and be
  /// thread-safe if several threads use this one.
  std::pmr::memory_resource* upstream = nullptr;

  /// When all blocks are in use: ask upstream, rather than throw std::bad_alloc.
  bool overflow_to_upstream = false;
};

/// Blocks of one size for containers of nodes, with the free list and the thread caches of an
/// `object_pool`.
///
/// A request that fits into a block gets one; its size does not matter. A larger one, or one with a
/// larger alignment, goes upstream. Deallocation finds the origin of memory by its address. Equal
/// only to itself.
///
/// Thread-safe. Progress: blocks are allocated and deallocated as an object_pool acquires and
/// releases. That is wait-free where the thread's cache has or takes the block, and then costs no
/// read-modify-write and no fence. What goes upstream progresses as upstream does.
///
/// Not movable. Requires on destruction: no block is used or given back afterwards, and no other
/// thread is in a call. All blocks are freed with it, also those in use. Memory that upstream gave
/// and did not get back stays allocated there.
class block_resource final : public std::pmr::memory_resource {
 public:
  /// Throws std::invalid_argument that names the resource, std::bad_array_new_length or
  /// std::bad_alloc.
  explicit block_resource(const block_resource_options& options);
  block_resource(const block_resource&) = delete;
  block_resource& operator=(const block_resource&) = delete;
  ~block_resource() override;

  /// Whether `address` is within one of the blocks, in use or not. Wait-free.
  [[nodiscard]] bool owns(const void* address) const noexcept { return store_.owns(address); }

  [[nodiscard]] std::size_t block_size() const noexcept { return block_size_; }
  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

  /// A snapshot; see pool_stats for what it promises. Wait-free.
  [[nodiscard]] block_stats stats() const noexcept { return store_.stats(); }

  /// Requests that went upstream so far, for whatever reason. Wait-free.
  [[nodiscard]] std::uint64_t upstream_requests() const noexcept;

 private:
  template <class T>
  friend class block_allocator;

  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override;

  [[nodiscard]] bool fits(std::size_t bytes, std::size_t alignment) const noexcept {
    return bytes <= block_size_ && alignment <= alignment_;
  }

  // Inlined where the type of the resource is known.
  [[nodiscard, gnu::always_inline]] void* take(std::size_t bytes, std::size_t alignment) {
    if (fits(bytes, alignment)) [[likely]] {
      if (void* block = nullptr; store_.try_hit(block, bytes)) [[likely]] {
        return block;
      }
    }
    return take_after_miss(bytes, alignment);
  }
  [[gnu::always_inline]] void give(void* address, std::size_t bytes, std::size_t alignment) {
    if (store_.owns(address)) [[likely]] {
      store_.release(address);
    } else {
      give_elsewhere(address, bytes, alignment);
    }
  }

  [[nodiscard, gnu::noinline]] void* take_after_miss(std::size_t bytes, std::size_t alignment);
  [[gnu::noinline]] void give_elsewhere(void* address, std::size_t bytes, std::size_t alignment);

  std::size_t block_size_ = 0;
  std::size_t alignment_;
  std::pmr::memory_resource* upstream_;
  bool overflow_to_upstream_;
  std::string name_;
  detail::block_store store_;
  detail::shared_atomic<std::uint64_t> upstream_requests_{0};
};

}  // namespace lido
