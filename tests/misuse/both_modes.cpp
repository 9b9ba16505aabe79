// A file with assertions and one without in one program: each keeps its own.
#include <cstdio>
#include <cstdlib>

#include "one_mode.hpp"

namespace {

int noted = 0;
int leaks = 0;

void require(bool held, const char* what) {
  if (!held) {
    (void)std::fprintf(stderr, "BROKEN: %s\n", what);
    std::_Exit(EXIT_FAILURE);
  }
}

}  // namespace

void note_misuse(const char* message) noexcept {
  ++noted;
  (void)std::puts(message);
}

int main() {
  lido::set_misuse_handler([](const lido::misuse& /*what*/) noexcept { ++leaks; });
  misuse_without_assertions();
  require(noted == 0 && leaks == 0, "a file without assertions checks");
  misuse_with_assertions();
  require(noted == 3 && leaks == 1, "a file with assertions does not check");
  misuse_without_assertions();
  require(noted == 3 && leaks == 1, "a file without assertions checks");
  require(own_range_is_refused(), "a map inserts a range of its own values");
  (void)std::puts("report: both_modes");
}
