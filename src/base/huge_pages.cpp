#include "lido/base/huge_pages.hpp"

#include <sys/mman.h>

#include <bit>
#include <cstdint>

namespace lido::detail {

void advise_huge_pages(void* data, std::size_t bytes) noexcept {
  const auto begin = std::bit_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (begin + huge_page - 1) / huge_page * huge_page;
  const std::uintptr_t last = (begin + bytes) / huge_page * huge_page;
  if (first < last) {
    (void)::madvise(static_cast<std::byte*>(data) + (first - begin), last - first, MADV_HUGEPAGE);
  }
}

}  // namespace lido::detail
