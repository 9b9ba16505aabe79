#include <pthread.h>

#include <array>
#include <string_view>

#if defined(__FreeBSD__)
#include <pthread_np.h>
#endif

#include "../counted_thread_id.hpp"
#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

#if defined(__APPLE__)

std::uint32_t thread_id() noexcept {
  std::uint64_t id = 0;
  (void)pthread_threadid_np(nullptr, &id);
  return static_cast<std::uint32_t>(id);
}

#elif defined(__FreeBSD__)

std::uint32_t thread_id() noexcept {
  return static_cast<std::uint32_t>(pthread_getthreadid_np());
}

#else

std::uint32_t thread_id() noexcept {
  return counted_thread_id();
}

#endif

// Finds the name of the calling thread only. No system call maps the number of another thread to a
// name.
std::size_t thread_name([[maybe_unused]] std::uint32_t id,
                        [[maybe_unused]] std::span<char> name) noexcept {
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__GLIBC__)
  std::array<char, 64> own{};
  if (id == thread_id() && pthread_getname_np(pthread_self(), own.data(), own.size()) == 0) {
    return std::string_view(own.data()).copy(name.data(), name.size());
  }
#endif
  return 0;
}

}  // namespace lido::inline v0::detail::platform
