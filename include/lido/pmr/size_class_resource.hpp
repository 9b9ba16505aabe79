/// @file
/// Public. `size_class_resource`: blocks of several sizes as one std::pmr::memory_resource.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "lido/concurrency/atomic.hpp"
#include "lido/pmr/block_store.hpp"

namespace lido {

/// One size of a `size_class_resource`, and how many blocks it has.
struct size_class {
  std::size_t
      block_size;        ///< bytes, at least 1; rounded up to a multiple of the alignment and of 8
  std::size_t capacity;  ///< blocks, 1 to 2^32 - 2
};

/// Options of a `size_class_resource`. Use designated initialisers.
struct size_class_options {
  /// Of every block. A power of two, 1 to 4096.
  std::size_t alignment = alignof(std::max_align_t);

  /// Copied; appears in errors.
  std::string_view name = "unnamed";

  /// Most free blocks of one size in one thread's cache, 0 to 1022; see object_pool_options.
  std::size_t max_cached = 512;

  /// Serves what no block is large or aligned enough for; as in block_resource_options.
  std::pmr::memory_resource* upstream = nullptr;

  /// When all blocks of the right size are in use: ask upstream, rather than throw std::bad_alloc.
  bool overflow_to_upstream = false;
};

/// Arrays of small, medium and large blocks: a request gets a block of the smallest size that it
/// fits into. If there is none left, larger ones are not broken into.
///
/// Size classes are those of the general allocators; see Bonwick, "The Slab Allocator", USENIX
/// 1994. Each class is a `block_resource` without its virtual functions, and all that is said there
/// of threads, progress, upstream and the end holds here.
class size_class_resource final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t most_classes = 64;

  /// `classes` in any order, 1 to 64 of them. Throws std::invalid_argument that names the resource,
  /// also when two sizes are equal once they are rounded; std::bad_array_new_length or
  /// std::bad_alloc.
  explicit size_class_resource(std::vector<size_class> classes,
                               const size_class_options& options = {});
  size_class_resource(const size_class_resource&) = delete;
  size_class_resource& operator=(const size_class_resource&) = delete;
  ~size_class_resource() override;

  /// Whether `address` is within one of the blocks, in use or not. Wait-free.
  [[nodiscard]] bool owns(const void* address) const noexcept;

  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

  /// A snapshot for each class, from small to large. Throws std::bad_alloc.
  [[nodiscard]] std::vector<block_stats> stats() const;

  /// Requests that went upstream so far, for whatever reason. Wait-free.
  [[nodiscard]] std::uint64_t upstream_requests() const noexcept;

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override;

  void fill_table() noexcept;
  [[nodiscard]] std::size_t search(std::size_t bytes) const noexcept;
  [[nodiscard]] detail::block_store* store_for(std::size_t bytes) const noexcept;
  [[nodiscard]] detail::block_store* tabled_store(std::size_t bytes) const noexcept {
    return stores_[table_[(bytes + granule - 1) / granule]].get();
  }
  [[nodiscard]] detail::block_store* owner_of(const void* address) const noexcept;
  [[nodiscard, gnu::noinline]] void* take_after_miss(std::size_t bytes, std::size_t alignment);
  [[gnu::noinline]] void give_elsewhere(void* address, std::size_t bytes, std::size_t alignment);

  /// Block sizes are multiples of this, so sizes with the same number of granules share a class.
  static constexpr std::size_t granule = 8;
  static constexpr std::size_t most_tabled = 4096;

  std::size_t alignment_;
  std::size_t count_;  ///< classes; also the number of the class that does not exist
  /// From small to large. The last place stays empty.
  std::array<std::unique_ptr<detail::block_store>, most_classes + 1> stores_;
  /// Class of each number of granules.
  std::array<std::uint8_t, most_tabled / granule + 1> table_{};
  std::pmr::memory_resource* upstream_;
  bool overflow_to_upstream_;
  std::string name_;
  detail::shared_atomic<std::uint64_t> upstream_requests_{0};
};

}  // namespace lido
