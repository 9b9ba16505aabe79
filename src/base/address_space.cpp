#include "lido/base/address_space.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "../platform/platform.hpp"
#include "lido/base/address.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/fail.hpp"

namespace lido::inline v0::detail {

namespace {

constexpr std::size_t round_up(std::size_t size, std::size_t unit) noexcept {
  return (size + unit - 1) / unit * unit;
}

}  // namespace

std::size_t page_size() noexcept {
  return platform::page_size();
}

address_space::address_space(std::size_t size, std::size_t alignment, std::string_view pool_name)
    : size_(size) {
  LIDO_ASSERT(std::has_single_bit(alignment), "an alignment that is no power of two");
  const std::size_t page = page_size();
  const std::size_t slack = alignment > page ? alignment : 0;
  if (size > (std::numeric_limits<std::size_t>::max)() / 2 - slack) {
    throw_no_memory(pool_name, size);
  }
  mapped_ = round_up(std::max<std::size_t>(size, 1), page) + slack;
  mapping_ = static_cast<std::byte*>(platform::reserve(mapped_));
  if (mapping_ == nullptr) {
    throw_no_memory(pool_name, size);
  }
  const auto start = address_bits(mapping_);
  data_ = mapping_ + (round_up(start, (std::max)(alignment, page)) - start);
}

address_space::~address_space() {
  platform::unreserve(mapping_, mapped_);
}

int address_space::commit(std::size_t offset, std::size_t size) const noexcept {
  LIDO_ASSERT(offset <= size_ && size <= size_ - offset, "a commit beyond the addresses");
  const std::size_t page = page_size();
  const std::size_t first = offset / page * page;
  const std::size_t last = round_up(offset + size, page);
  return platform::commit(data_ + first, last - first);
}

int address_space::decommit(std::size_t offset, std::size_t size) const noexcept {
  LIDO_ASSERT(offset % page_size() == 0 && offset <= size_ && size <= size_ - offset &&
                  (size % page_size() == 0 || offset + size == size_),
              "a decommit of a part of a page");
  return platform::discard(data_ + offset, round_up(size, page_size()));
}

}  // namespace lido::inline v0::detail
