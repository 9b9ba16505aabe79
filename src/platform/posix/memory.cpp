#include <sys/mman.h>

#include <cerrno>

#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

// Maps new pages over the old ones. POSIX does not guarantee that madvise leaves zeros, and
// MADV_DONTNEED of macOS and of the BSDs does not leave zeros. The new pages are accessible, so
// that they can join the adjacent mapping.
int discard(void* memory, std::size_t bytes) noexcept {
  void* const mapped = ::mmap(memory, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANON | MAP_FIXED, /*fd=*/-1, 0);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a macro of the system
  return mapped == MAP_FAILED ? errno : 0;
}

void advise_huge_pages(void* /*memory*/, std::size_t /*bytes*/) noexcept {}

}  // namespace lido::inline v0::detail::platform
