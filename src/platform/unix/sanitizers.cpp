#include "../platform.hpp"

// Functions of ThreadSanitizer; null in a program that is built without it. Only ELF allows symbols
// to be missing.
#ifdef __ELF__
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
[[gnu::weak]] void __tsan_release(void* address);
[[gnu::weak]] void __tsan_acquire(void* address);
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
}
#endif

namespace lido::inline v0::detail::platform {

// If the library itself is built with ThreadSanitizer, these calls would hide its own races.
#if defined(__SANITIZE_THREAD__)
#define LIDO_HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LIDO_HAS_TSAN 1
#endif
#endif
#if defined(LIDO_HAS_TSAN) || !defined(__ELF__)

bool is_watched_from_outside() noexcept {
  return false;
}
void tell_release(const void* /*address*/) noexcept {}
void tell_acquire(const void* /*address*/) noexcept {}

#else

bool is_watched_from_outside() noexcept {
  return __tsan_release != nullptr && __tsan_acquire != nullptr;
}

// NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): ThreadSanitizer uses only the address
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

}  // namespace lido::inline v0::detail::platform
