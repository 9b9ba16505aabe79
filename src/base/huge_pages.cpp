#include "lido/base/huge_pages.hpp"

#include <cstdint>

#include "../platform/platform.hpp"
#include "lido/base/address.hpp"

namespace lido::inline v0::detail {

void advise_huge_pages(void* data, std::size_t bytes) noexcept {
  const auto begin = address_bits(data);
  const std::uintptr_t first = (begin + huge_page - 1) / huge_page * huge_page;
  const std::uintptr_t last = (begin + bytes) / huge_page * huge_page;
  if (first < last) {
    platform::advise_huge_pages(static_cast<std::byte*>(data) + (first - begin), last - first);
  }
}

}  // namespace lido::inline v0::detail
