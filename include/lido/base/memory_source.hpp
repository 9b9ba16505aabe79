/// @file
/// Public. `memory_source`: memory that the program gives to its pools; `memory_region`: a span of
/// bytes as such a source.
#pragma once

#include <cstddef>
#include <span>

namespace lido::inline v0 {

class memory_source;

namespace detail {

class memory_piece;
class tried_memory;

/// Knows which source takes back the memory that another source has handed out. A class of its own,
/// because friends of memory_source could call its destructor, which compilers warn about.
class memory_origin {
 protected:
  explicit memory_origin(memory_source* origin) noexcept : origin_(origin) {}

 private:
  friend memory_piece;
  friend tried_memory;

  memory_source* origin_;
};

}  // namespace detail

/// Provides memory for pools, which the option `memory` of a pool refers to.
///
/// Programs may derive sources of their own, and `memory_region` and `pmr_source` are ready-made
/// ones. A source must outlive its pools. Pools allocate and give back memory only while `try_make`
/// or their constructor makes them and while they are destroyed, and slot maps also when they grow
/// or shrink. A source that is not thread-safe therefore serves several pools if no two threads do
/// such things at the same time.
class memory_source : public detail::memory_origin {
 public:
  /// Makes a source.
  memory_source() noexcept : memory_origin(this) {}
  memory_source(const memory_source&) = delete;
  memory_source& operator=(const memory_source&) = delete;

  /// Returns `bytes` bytes aligned to `alignment`, or null if there are too few. May throw, for
  /// example std::bad_alloc. Requires: `alignment` is a power of two.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, std::size_t alignment) = 0;

  /// Takes memory back. Requires: `allocate(bytes, alignment)` of this source returned it, and it
  /// is taken back only once.
  virtual void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept = 0;

  /// Returns the largest number of bytes that `allocate` can return now if they must be aligned to
  /// `alignment`, or SIZE_MAX if that is unknown.
  [[nodiscard]] virtual std::size_t available(std::size_t alignment) const noexcept = 0;

  /// Returns true if memory that was taken back can be allocated again in any order. Only then may
  /// a slot map grow.
  [[nodiscard]] virtual bool can_grow() const noexcept = 0;

 protected:
  ~memory_source() = default;
};

/// Hands out aligned parts of a span of bytes, one after another: of a static buffer, an arena,
/// huge pages, or locked memory.
///
/// A region contains no list of its parts. If the part that was handed out last is taken back, its
/// bytes are available again. If no part is out, all bytes are. Not thread-safe. Requires: the
/// bytes outlive the region, and nothing else uses them (in particular no second region).
class memory_region final : public memory_source {
 public:
  /// Makes a region that hands out `bytes`.
  explicit memory_region(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) noexcept override;
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override;
  [[nodiscard]] std::size_t available(std::size_t alignment) const noexcept override;
  [[nodiscard]] bool can_grow() const noexcept override { return false; }

  /// Returns the number of bytes that have not been handed out.
  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - used_; }

 private:
  [[nodiscard]] std::size_t skipped(std::size_t alignment) const noexcept;

  std::span<std::byte> bytes_;
  std::size_t used_ = 0;
  std::size_t parts_ = 0;  ///< parts that are out
};

}  // namespace lido::inline v0
