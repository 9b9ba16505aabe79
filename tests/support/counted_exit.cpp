// For builds that count branches: gcov writes its counts at exit(), and loses them if a process
// ends without a call to exit().

#include <sys/syscall.h>
#include <unistd.h>

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names that gcov and the
// linker give
extern "C" {

void __gcov_dump();

[[noreturn]] void __wrap__Exit(int status);
[[noreturn]] void __wrap__Exit(int status) {
  __gcov_dump();
  for (;;) {
    ::syscall(SYS_exit_group, status);
  }
}

[[noreturn]] void __wrap__exit(int status);
[[noreturn]] void __wrap__exit(int status) {
  __wrap__Exit(status);
}

[[noreturn]] void __real_abort();
[[noreturn]] void __wrap_abort();
[[noreturn]] void __wrap_abort() {
  __gcov_dump();
  __real_abort();
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
