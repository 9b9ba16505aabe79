#include "lido/base/zero_pages.hpp"

#include <sys/mman.h>

namespace lido::detail {

std::byte* map_zero_pages(std::size_t bytes) noexcept {
  void* const pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, 0);
  if (pages == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr): a macro of the system
    return nullptr;
  }
  // On huge pages, one touched byte would cost two mebibytes.
  (void)::madvise(pages, bytes, MADV_NOHUGEPAGE);
  return static_cast<std::byte*>(pages);
}

void unmap_zero_pages(std::byte* pages, std::size_t bytes) noexcept {
  (void)::munmap(pages, bytes);
}

}  // namespace lido::detail
