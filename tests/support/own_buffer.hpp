/// @file
/// Bytes of the program for pools with the option `memory`.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lido/base/address.hpp"

namespace lido::test {

/// Bytes that begin at a multiple of 8,192 and are full of garbage.
class own_buffer {
 public:
  explicit own_buffer(std::size_t size) : bytes_(size + alignment, std::byte{0xA5}), size_(size) {
    first_ = (alignment - detail::address_bits(bytes_.data()) % alignment) % alignment;
  }
  [[nodiscard]] std::span<std::byte> span() noexcept {
    return std::span(bytes_).subspan(first_, size_);
  }
  [[nodiscard]] bool contains(const void* address, std::size_t size) noexcept {
    const auto offset = detail::address_bits(address) - detail::address_bits(span().data());
    return offset < size_ && size <= size_ - offset;
  }

 private:
  static constexpr std::size_t alignment = 8192;
  std::vector<std::byte> bytes_;
  std::size_t first_;
  std::size_t size_;
};

}  // namespace lido::test
