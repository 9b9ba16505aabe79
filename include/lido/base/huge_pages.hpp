/// @file
/// Internal. Memory for large arrays, on huge pages if the system has any.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/base/fail.hpp"

namespace lido::inline v0 {
class memory_source;
}  // namespace lido::inline v0

namespace lido::inline v0::detail {

/// Bytes in a huge page on most systems. Where huge pages are larger, the alignment does not
/// matter.
inline constexpr std::size_t huge_page = std::size_t{2} << 20U;

/// Chooses the pages of large arrays. `large` stands for huge pages. Normal pages suit arrays that
/// are mostly unused, because then the first value in a page makes 4 KiB resident, not 2 MiB.
enum class page_kind : bool { normal, large };

/// Returns the alignment for an array. An array of at least one huge page begins at the start of a
/// huge page. Accesses to it, in any order, then need a handful of address translations instead of
/// one for every 4 KiB.
[[nodiscard]] constexpr std::size_t array_alignment(std::size_t bytes, std::size_t alignment,
                                                    page_kind pages = page_kind::large) noexcept {
  return bytes < huge_page || pages == page_kind::normal ? alignment
                                                         : (std::max)(alignment, huge_page);
}

/// Rounds `bytes` up to whole huge pages if that adds at most an eighth. Otherwise returns `bytes`,
/// and the end of the array lies on small pages.
[[nodiscard]] constexpr std::size_t array_bytes(std::size_t bytes) noexcept {
  if (bytes < huge_page || bytes > (std::numeric_limits<std::size_t>::max)() - huge_page) {
    return bytes;
  }
  const std::size_t whole = (bytes + huge_page - 1) / huge_page * huge_page;
  return whole - bytes <= bytes / 8 ? whole : bytes;
}

/// Asks the system to use huge pages for those parts of `[data, data + bytes)` that can be whole
/// huge pages. If the system refuses, nothing changes. Source: madvise(2), MADV_HUGEPAGE.
/// Thread-safe.
void advise_huge_pages(void* data, std::size_t bytes) noexcept;

/// Allocates memory that `operator delete` with the same alignment frees. Throws a std::bad_alloc
/// that names the pool.
[[nodiscard]] void* allocate_aligned(std::size_t bytes, std::size_t alignment,
                                     std::string_view pool_name);

/// A block of raw bytes. The bytes are neither initialised nor touched, so the system provides the
/// pages of a large block only when they are first used.
class aligned_buffer {
 public:
  /// Throws std::bad_alloc. Requires: `alignment` is a power of two.
  [[LIDO_ASSERTS]] aligned_buffer(std::size_t size, std::size_t alignment,
                                  std::string_view pool_name = {})
      : data_(static_cast<std::byte*>(allocate_aligned(size, alignment, pool_name))),
        size_(size),
        alignment_(alignment) {
    LIDO_ASSERT(std::has_single_bit(alignment), "an alignment that is no power of two");
  }

  /// Refers to memory of the program, which outlives this object.
  aligned_buffer(std::byte* data, std::size_t size) noexcept
      : data_(data), size_(size), alignment_(0) {}

  aligned_buffer(const aligned_buffer&) = delete;
  aligned_buffer& operator=(const aligned_buffer&) = delete;
  // The sized form is not used, because Clang 14 declares it only with -fsized-deallocation.
  ~aligned_buffer() {
    if (alignment_ != 0) {
      ::operator delete (data_, std::align_val_t{alignment_});
    }
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
  std::size_t alignment_;  ///< 0 for memory of the program
};

/// Where arrays come from: pages of the system, or memory of the program.
struct array_source {
  // NOLINTNEXTLINE(google-explicit-constructor): a kind of pages is a source
  array_source(page_kind of = page_kind::large, memory_source* from = nullptr) noexcept
      : pages(of), memory(from) {}
  friend bool operator==(const array_source& left, const array_source& right) noexcept {
    return left.pages == right.pages && left.memory == right.memory;
  }

  page_kind pages;
  memory_source* memory;  ///< null for memory of the system
};

/// Allocates an array, on huge pages if `from` asks for them. Throws a std::bad_alloc that names
/// the pool, and whatever the source throws. Requires: `alignment` is a power of two.
[[nodiscard]] void* allocate_array(std::size_t bytes, std::size_t alignment,
                                   const array_source& from, std::string_view pool_name = {});
/// Frees an array. Requires: allocate_array with the same arguments returned it.
void free_array(void* array, std::size_t bytes, std::size_t alignment,
                const array_source& from) noexcept;

/// Owns the memory of one array, or none.
class array_buffer {
 public:
  array_buffer() noexcept = default;
  /// Throws the same as allocate_array. On huge pages, the size may be rounded up.
  array_buffer(std::size_t bytes, std::size_t alignment, const array_source& from,
               std::string_view pool_name = {})
      : from_(from),
        size_(from.memory == nullptr && from.pages == page_kind::large ? array_bytes(bytes)
                                                                       : bytes),
        alignment_(alignment),
        data_(static_cast<std::byte*>(allocate_array(size_, alignment, from, pool_name))) {}
  array_buffer(const array_buffer&) = delete;
  array_buffer& operator=(const array_buffer&) = delete;
  array_buffer(array_buffer&& other) noexcept
      : from_(other.from_),
        size_(std::exchange(other.size_, 0)),
        alignment_(other.alignment_),
        data_(std::exchange(other.data_, nullptr)) {}
  /// Exchanges the memory of both objects.
  array_buffer& operator=(array_buffer&& other) noexcept {
    std::swap(from_, other.from_);
    std::swap(size_, other.size_);
    std::swap(alignment_, other.alignment_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~array_buffer() {
    if (data_ != nullptr) {
      free_array(data_, size_, alignment_, from_);
    }
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  array_source from_;
  std::size_t size_ = 0;
  std::size_t alignment_ = 1;
  std::byte* data_ = nullptr;
};

/// Allocates arrays of standard containers, on huge pages unless it is told otherwise. Sizes are
/// not rounded up to whole huge pages, since containers do not ask how much memory they received.
template <class T>
class array_allocator {
 public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::true_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  // NOLINTNEXTLINE(google-explicit-constructor): a container is made from a source
  array_allocator(const array_source& from = {}) noexcept : from_(from) {}
  template <class U>
  // NOLINTNEXTLINE(google-explicit-constructor): as the standard asks
  array_allocator(const array_allocator<U>& other) noexcept : from_(other.source()) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > (std::numeric_limits<std::size_t>::max)() / sizeof(T)) {
      throw_bad_array_length();
    }
    return static_cast<T*>(allocate_array(count * sizeof(T), alignof(T), from_));
  }
  void deallocate(T* memory, std::size_t count) noexcept {
    free_array(memory, count * sizeof(T), alignof(T), from_);
  }
  [[nodiscard]] const array_source& source() const noexcept { return from_; }
  friend bool operator==(const array_allocator& left, const array_allocator& right) noexcept {
    return left.from_ == right.from_;
  }

 private:
  array_source from_;
};

}  // namespace lido::inline v0::detail
