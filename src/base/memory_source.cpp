#include "lido/base/memory_source.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>

#include "lido/base/address.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/base/memory_piece.hpp"
#include "lido/base/option_problem.hpp"
#include "lido/base/try_make.hpp"

namespace lido::inline v0 {

namespace {

constexpr std::size_t unbounded = (std::numeric_limits<std::size_t>::max)();

/// Returns how many bytes lie between `address` and the next multiple of `alignment`.
constexpr std::size_t gap_after(std::uintptr_t address, std::size_t alignment) noexcept {
  return (alignment - address % alignment) % alignment;
}

}  // namespace

std::size_t memory_region::skipped(std::size_t alignment) const noexcept {
  LIDO_ASSERT(std::has_single_bit(alignment), "an alignment that is no power of two");
  return gap_after(detail::address_bits(bytes_.data()) + used_, alignment);
}

std::size_t memory_region::available(std::size_t alignment) const noexcept {
  return left() - (std::min)(left(), skipped(alignment));
}

void* memory_region::allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes_.data() == nullptr || bytes > available(alignment) || left() < skipped(alignment)) {
    return nullptr;
  }
  std::byte* const part = bytes_.data() + used_ + skipped(alignment);
  used_ += skipped(alignment) + bytes;
  ++parts_;
  return part;
}

void memory_region::deallocate(void* memory, std::size_t bytes,
                               std::size_t /*alignment*/) noexcept {
  const std::uintptr_t offset = detail::address_bits(memory) - detail::address_bits(bytes_.data());
  LIDO_ASSERT(parts_ != 0 && offset <= used_ && bytes <= used_ - offset,
              "a region takes back memory that it did not hand out");
  --parts_;
  if (parts_ == 0) {
    used_ = 0;
  } else if (offset + bytes == used_) {
    used_ = offset;
  }
}

namespace detail {

std::byte* memory_cursor::take(std::size_t bytes, std::size_t alignment) noexcept {
  LIDO_ASSERT(std::has_single_bit(alignment), "an alignment that is no power of two");
  alignment_ = (std::max)(alignment_, alignment);
  const std::size_t gap = gap_after(bytes_, alignment);
  if (gap > unbounded - bytes_ || bytes > unbounded - bytes_ - gap) {
    bytes_ = unbounded;
    return nullptr;
  }
  std::byte* const part = has_memory() ? begin_ + bytes_ + gap : nullptr;
  bytes_ += gap + bytes;
  return part;
}

std::byte* memory_cursor::take_zeros(std::size_t bytes, std::size_t alignment) noexcept {
  std::byte* const part = take(bytes, alignment);
  if (part != nullptr) {
    std::memset(part, 0, bytes);
  }
  return part;
}

memory_piece::memory_piece(memory_source* source, const memory_cursor& needed,
                           std::string_view pool_name, memory_cursor& parts)
    : source_(source) {
  if (source == nullptr) {
    return;
  }
  throw_if(too_little_memory(source, needed), pool_name);
  data_ = static_cast<std::byte*>(source->allocate(needed.bytes(), needed.alignment()));
  if (data_ == nullptr) {
    throw_bad_alloc();
  }
  LIDO_ASSERT(address_bits(data_) % needed.alignment() == 0,
              "a memory_source has returned misaligned memory");
  bytes_ = needed.bytes();
  alignment_ = needed.alignment();
  parts = memory_cursor(data_);
}

bool has_memory(memory_source* source, std::size_t bytes) noexcept {
  constexpr std::size_t alignment = 128;
  void* const memory =
      source != nullptr ? source->allocate(bytes, alignment) : ::operator new(bytes, std::nothrow);
  if (memory != nullptr && source != nullptr) {
    source->deallocate(memory, bytes, alignment);
  } else {
    ::operator delete(memory);
  }
  return memory != nullptr;
}

memory_piece::~memory_piece() {
  if (data_ != nullptr) {
    source_->deallocate(data_, bytes_, alignment_);
  }
}

}  // namespace detail
}  // namespace lido::inline v0
