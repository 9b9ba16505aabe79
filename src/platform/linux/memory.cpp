#include <sys/mman.h>

#include <cerrno>

#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

// The pages stay accessible. If access to them were forbidden and their neighbours stayed in use,
// the mapping would be split, and the number of mappings of a process is limited
// (vm.max_map_count).
int discard(void* memory, std::size_t bytes) noexcept {
  if (::madvise(memory, bytes, MADV_DONTNEED) == 0) {
    return 0;
  }
#ifdef MADV_DONTNEED_LOCKED  // needed after mlock or mlockall; since Linux 5.18
  if (errno == EINVAL && ::madvise(memory, bytes, MADV_DONTNEED_LOCKED) == 0) {
    return 0;
  }
#endif
  return errno;
}

void advise_huge_pages(void* memory, std::size_t bytes) noexcept {
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
}

}  // namespace lido::inline v0::detail::platform
