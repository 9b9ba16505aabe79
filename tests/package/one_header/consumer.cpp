// A program with nothing of Lido except the one header. With LIDO_TEST_ALONE it also contains Lido
// itself; otherwise another source file does. It includes the header twice, as does a program with
// several headers of its own.
#include "lido_all.hpp"
#if defined(LIDO_TEST_ALONE)
#define LIDO_IMPLEMENTATION
#endif
#include "lido_all.hpp"

#include "../every_kind.hpp"

int main() {
  use_every_kind();
  std::printf("every kind, Lido %d\n", LIDO_VERSION);
  return 0;
}
