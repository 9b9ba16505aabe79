// How the thread's number is found, as the C library decides.
#include <cstddef>
#ifdef LIDO_OTHER_C_LIBRARY
#undef __GLIBC__
#endif

#include "lido/concurrency/thread_number.hpp"

std::size_t probe_thread_offset() noexcept;
std::size_t probe_thread_offset() noexcept {
  return lido::detail::thread_offset;
}
