#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "../platform.hpp"

// Functions of LeakSanitizer and ThreadSanitizer; null in a program that is built without them.
// Only ELF allows symbols to be missing.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
#ifdef __ELF__
extern "C" {
[[gnu::weak]] void __lsan_register_root_region(const void* memory, std::size_t size);
[[gnu::weak]] void __lsan_unregister_root_region(const void* memory, std::size_t size);
[[gnu::weak]] void AnnotateIgnoreWritesBegin(const char* file, int line);
[[gnu::weak]] void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#else
namespace {
constexpr void (*__lsan_register_root_region)(const void* memory, std::size_t size) = nullptr;
constexpr void (*__lsan_unregister_root_region)(const void* memory, std::size_t size) = nullptr;
constexpr void (*AnnotateIgnoreWritesBegin)(const char* file, int line) = nullptr;
constexpr void (*AnnotateIgnoreWritesEnd)(const char* file, int line) = nullptr;
}  // namespace
#endif
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

namespace lido::inline v0::detail::platform {

namespace {

#ifdef MAP_NORESERVE
constexpr int no_reserve = MAP_NORESERVE;
#else
constexpr int no_reserve = 0;
#endif

[[nodiscard]] void* map(std::size_t bytes, int access, int flags) noexcept {
  void* const memory = ::mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANON | flags, /*fd=*/-1, 0);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a macro of the system
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

// The size is not cached in a static local variable. A thread could be initialising the variable
// when the process forks, and the child would then wait for ever.
std::size_t page_size() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void* reserve(std::size_t bytes) noexcept {
  // Memory without access rights counts against no limit except the limit on addresses.
  void* const memory = map(bytes, PROT_NONE, 0);
  // Leak checkers scan only memory that they know, such as memory from malloc. The range must be
  // registered because objects in the range may own such memory.
  if (memory != nullptr && __lsan_register_root_region != nullptr) {
    __lsan_register_root_region(memory, bytes);
  }
  return memory;
}

void unreserve(void* memory, std::size_t bytes) noexcept {
  if (__lsan_unregister_root_region != nullptr) {
    __lsan_unregister_root_region(memory, bytes);
  }
  (void)::munmap(memory, bytes);
}

int commit(void* memory, std::size_t bytes) noexcept {
  return ::mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0 ? 0 : errno;
}

void* map_zeros(std::size_t bytes) noexcept {
  // ThreadSanitizer treats the call as a write to each byte. No thread writes these zeros, so a
  // thread may read them even if nothing orders the read after the call.
  if (AnnotateIgnoreWritesBegin != nullptr) {
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  void* const memory = map(bytes, PROT_READ | PROT_WRITE, no_reserve);
  if (AnnotateIgnoreWritesEnd != nullptr) {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  }
#ifdef MADV_NOHUGEPAGE
  if (memory != nullptr) {
    (void)::madvise(memory, bytes, MADV_NOHUGEPAGE);
  }
#endif
  return memory;
}

void unmap_zeros(void* memory, std::size_t bytes) noexcept {
  (void)::munmap(memory, bytes);
}

// Requires: the memory consists of whole pages that map no file. Sources: madvise(2),
// MADV_WIPEONFORK; Linux 4.14. minherit(2), INHERIT_ZERO; FreeBSD 12.0, OpenBSD 5.6.
bool clear_in_copies([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(MADV_WIPEONFORK)
  return bytes % page_size() == 0 && ::madvise(memory, bytes, MADV_WIPEONFORK) == 0;
#elif defined(INHERIT_ZERO)
  return bytes % page_size() == 0 && ::minherit(memory, bytes, INHERIT_ZERO) == 0;
#else
  return false;
#endif
}

}  // namespace lido::inline v0::detail::platform
