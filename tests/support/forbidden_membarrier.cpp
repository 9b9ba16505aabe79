#include "support/forbidden_membarrier.hpp"

#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace lido::test {

namespace {

constexpr auto load_word = static_cast<unsigned short>(BPF_LD | BPF_W | BPF_ABS);
constexpr auto jump_if_equal = static_cast<unsigned short>(BPF_JMP | BPF_JEQ | BPF_K);
constexpr auto give_back = static_cast<unsigned short>(BPF_RET | BPF_K);

sock_filter statement(unsigned short code, std::uint32_t operand) {
  return {code, 0, 0, operand};
}

/// Skips the next statement unless the loaded word is `value`.
sock_filter only_if(std::uint32_t value) {
  return {jump_if_equal, 0, 1, value};
}

}  // namespace

bool has_membarrier() noexcept {
  const long commands = ::syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0U, 0);
  return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

bool can_forbid_membarrier() noexcept {
  return ::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 0;
}

void forbid_membarrier(std::initializer_list<int> commands) noexcept {
  // The low word of an argument comes first on the processors that Lido is tested on.
  std::vector<sock_filter> rules{
      statement(load_word, offsetof(seccomp_data, nr)),
      {jump_if_equal, 1, 0, SYS_membarrier},
      statement(give_back, SECCOMP_RET_ALLOW),
      statement(load_word, offsetof(seccomp_data, args)),
  };
  for (const int command : commands) {
    rules.push_back(only_if(static_cast<std::uint32_t>(command)));
    rules.push_back(statement(give_back, SECCOMP_RET_ERRNO | EPERM));
  }
  rules.push_back(statement(give_back, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
    std::abort();
  }
}

}  // namespace lido::test
