#include "fault/injected.hpp"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>

namespace lido::test {

const char* name_of(fault what) noexcept {
  constexpr std::array names{
      "none",  "allocation",   "constructor", "hook",          "fence_registration",
      "fence", "key_creation", "key_setting", "fork_handlers", "thread_creation"};
  static_assert(names.size() == static_cast<std::size_t>(fault::last));
  return names[static_cast<std::size_t>(what)];
}

injection& plan() noexcept {
  static injection plan;
  return plan;
}

bool fails(fault what) noexcept {
  injection& now = plan();
  if (now.what != what || !now.armed) {
    return false;
  }
  const long occasion = ++now.seen;
  const bool due = occasion == now.first || (now.sticky && occasion > now.first);
  now.injected += due ? 1 : 0;
  return due;
}

namespace {

bool has_begun = false;  // while the library is loaded
[[maybe_unused]] const bool begins = has_begun = true;

}  // namespace

/// Refuses the library's requests while it loads, so that it repeats them during the sweep.
bool is_too_early() noexcept {
  return !has_begun;
}

}  // namespace lido::test

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names that the linker
// gives
extern "C" {

long __real_syscall(long number, ...);
int __real_pthread_key_create(pthread_key_t* key, void (*end)(void*));
int __real_pthread_setspecific(pthread_key_t key, const void* value);
int __real_pthread_atfork(void (*prepare)(), void (*parent)(), void (*child)());
int __real_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                          void* argument);

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  std::va_list more;
  va_start(more, number);
  std::array<long, 6> arguments{};
  for (long& argument : arguments) {
    argument = va_arg(more, long);
  }
  va_end(more);
  if (number == SYS_membarrier) {
    using lido::test::fault;
    const bool registers = arguments[0] == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    if (lido::test::fails(registers ? fault::fence_registration : fault::fence)) {
      errno = ENOSYS;
      return -1;
    }
  }
  return __real_syscall(number, arguments[0], arguments[1], arguments[2], arguments[3],
                        arguments[4], arguments[5]);
}

int __wrap_pthread_key_create(pthread_key_t* key, void (*end)(void*));
int __wrap_pthread_key_create(pthread_key_t* key, void (*end)(void*)) {
  return lido::test::fails(lido::test::fault::key_creation) ? EAGAIN
                                                            : __real_pthread_key_create(key, end);
}

int __wrap_pthread_setspecific(pthread_key_t key, const void* value);
int __wrap_pthread_setspecific(pthread_key_t key, const void* value) {
  return lido::test::fails(lido::test::fault::key_setting) ? ENOMEM
                                                           : __real_pthread_setspecific(key, value);
}

int __wrap_pthread_atfork(void (*prepare)(), void (*parent)(), void (*child)());
int __wrap_pthread_atfork(void (*prepare)(), void (*parent)(), void (*child)()) {
  return lido::test::is_too_early() || lido::test::fails(lido::test::fault::fork_handlers)
             ? ENOMEM
             : __real_pthread_atfork(prepare, parent, child);
}

int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                          void* argument);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                          void* argument) {
  return lido::test::fails(lido::test::fault::thread_creation)
             ? EAGAIN
             : __real_pthread_create(thread, attributes, body, argument);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
