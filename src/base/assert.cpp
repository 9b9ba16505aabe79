#include "lido/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace lido::inline v0::detail {

void end_for_failed_assertion(const char* condition, const char* message, const char* file,
                              int line) noexcept {
  (void)std::fprintf(stderr, "lido: %s (%s:%d: %s)\n", message, file, line, condition);
  (void)std::fflush(stderr);
  std::abort();
}

}  // namespace lido::inline v0::detail
