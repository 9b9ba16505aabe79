#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "../platform.hpp"

// Functions of LeakSanitizer and ThreadSanitizer; null in a program without them.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
[[gnu::weak]] void __lsan_register_root_region(const void* place, std::size_t size);
[[gnu::weak]] void __lsan_unregister_root_region(const void* place, std::size_t size);
[[gnu::weak]] void AnnotateIgnoreWritesBegin(const char* file, int line);
[[gnu::weak]] void AnnotateIgnoreWritesEnd(const char* file, int line);
[[gnu::weak]] void __tsan_release(void* address);
[[gnu::weak]] void __tsan_acquire(void* address);
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
}

namespace lido::detail::platform {

// Not a static variable with an initializer: the child of a fork could wait for ever for a thread
// that was initialising it.
std::size_t page_size() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void* reserve(std::size_t bytes) noexcept {
  // Without access rights it counts against no limit except that on addresses.
  void* const place = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, 0);
  if (place == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr): a macro of the system
    return nullptr;
  }
  // Leak checkers scan only memory that they know, such as malloc's. Objects here may own some.
  if (__lsan_register_root_region != nullptr) {
    __lsan_register_root_region(place, bytes);
  }
  return place;
}

void unreserve(void* place, std::size_t bytes) noexcept {
  if (__lsan_unregister_root_region != nullptr) {
    __lsan_unregister_root_region(place, bytes);
  }
  (void)::munmap(place, bytes);
}

int commit(void* place, std::size_t bytes) noexcept {
  return ::mprotect(place, bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : errno;
}

// Access stays allowed. Withdrawing it between ranges that stay in use would split the mapping, and
// a process may have only so many mappings (vm.max_map_count).
int discard(void* place, std::size_t bytes) noexcept {
  if (::madvise(place, bytes, MADV_DONTNEED) == 0) {
    return 0;
  }
#ifdef MADV_DONTNEED_LOCKED  // mlock, mlockall; Linux 5.18
  if (errno == EINVAL && ::madvise(place, bytes, MADV_DONTNEED_LOCKED) == 0) {
    return 0;
  }
#endif
  return errno;
}

void* map_zeros(std::size_t bytes) noexcept {
  // ThreadSanitizer takes the call for a write of each byte. No thread writes these zeros, and a
  // thread that is told of the place without any order may read them.
  if (AnnotateIgnoreWritesBegin != nullptr) {
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  void* const place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, 0);
  if (AnnotateIgnoreWritesEnd != nullptr) {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  }
  if (place == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr): a macro of the system
    return nullptr;
  }
  (void)::madvise(place, bytes, MADV_NOHUGEPAGE);
  return place;
}

void unmap_zeros(void* place, std::size_t bytes) noexcept {
  (void)::munmap(place, bytes);
}

// Of whole pages that no file is behind. Source: madvise(2), MADV_WIPEONFORK; Linux 4.14.
bool clear_in_copies([[maybe_unused]] void* place, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MADV_WIPEONFORK
  return bytes % page_size() == 0 && ::madvise(place, bytes, MADV_WIPEONFORK) == 0;
#else
  return false;
#endif
}

void advise_huge_pages(void* place, std::size_t bytes) noexcept {
  (void)::madvise(place, bytes, MADV_HUGEPAGE);
}

// In a library that is built with ThreadSanitizer, what these tell would hide races of its own.
#if !defined(__SANITIZE_THREAD__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1  // NOLINT(*-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): GCC's
#endif
#endif
#ifdef __SANITIZE_THREAD__

bool is_watched_from_outside() noexcept {
  return false;
}
void tell_release(const void* /*address*/) noexcept {}
void tell_acquire(const void* /*address*/) noexcept {}

#else

bool is_watched_from_outside() noexcept {
  return __tsan_release != nullptr && __tsan_acquire != nullptr;
}

// NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): ThreadSanitizer looks at the address alone
void tell_release(const void* address) noexcept {
  if (is_watched_from_outside()) {
    __tsan_release(const_cast<void*>(address));
  }
}

void tell_acquire(const void* address) noexcept {
  if (is_watched_from_outside()) {
    __tsan_acquire(const_cast<void*>(address));
  }
}
// NOLINTEND(cppcoreguidelines-pro-type-const-cast)

#endif

}  // namespace lido::detail::platform
