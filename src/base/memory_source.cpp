#include "lido/base/memory_source.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "../platform/platform.hpp"
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
  source_ = source->origin_;
  throw_if(too_little_memory(source, needed), pool_name);
  data_ = static_cast<std::byte*>(source->allocate(needed.bytes(), needed.alignment()));
  if (data_ == nullptr) {
    throw_no_memory(pool_name, needed.bytes());
  }
  LIDO_ASSERT(address_bits(data_) % needed.alignment() == 0,
              "a memory_source has returned misaligned memory");
  bytes_ = needed.bytes();
  alignment_ = needed.alignment();
  parts = memory_cursor(data_);
}

memory_piece::~memory_piece() {
  if (data_ != nullptr) {
    source_->deallocate(data_, bytes_, alignment_);
  }
}

bool has_memory(std::size_t bytes) noexcept {
  void* const memory = ::operator new(bytes, std::nothrow);
  ::operator delete(memory);
  return memory != nullptr;
}

bool has_addresses(std::size_t bytes) noexcept {
  if (bytes == 0) {
    return true;
  }
  const std::size_t page = platform::page_size();
  const std::size_t whole = bytes / page * page + page;
  void* const addresses = platform::reserve(whole);
  if (addresses != nullptr) {
    platform::unreserve(addresses, whole);
  }
  return addresses != nullptr;
}

bool tried_memory::try_allocate(std::size_t bytes) noexcept {
  LIDO_ASSERT(data_ == nullptr, "memory is tried twice");
  if (bytes == 0 || origin_->available(alignment_) != unbounded) {
    return true;
  }
  bytes_ = bytes;
  data_ = attempt([&] { return origin_->allocate(bytes, alignment_); },
                  [] { return static_cast<void*>(nullptr); });
  return data_ != nullptr;
}

void tried_memory::give_back() noexcept {
  if (data_ != nullptr) {
    origin_->deallocate(std::exchange(data_, nullptr), bytes_, alignment_);
  }
}

void* tried_memory::allocate([[maybe_unused]] std::size_t bytes,
                             [[maybe_unused]] std::size_t alignment) noexcept {
  LIDO_ASSERT(bytes == bytes_ && alignment == alignment_,
              "a pool asks for other memory than was tried");
  return std::exchange(data_, nullptr);
}

void tried_memory::deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept {
  origin_->deallocate(memory, bytes, alignment);
}

std::size_t tried_memory::available(std::size_t alignment) const noexcept {
  alignment_ = alignment;
  return origin_->available(alignment);
}

bool tried_memory::can_grow() const noexcept {
  return origin_->can_grow();
}

}  // namespace detail
}  // namespace lido::inline v0
