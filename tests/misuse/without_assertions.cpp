// Compiled with LIDO_ASSERTIONS=0.
#include "one_mode.hpp"

void misuse_without_assertions() {
  lido::test::misuse_once_each();
  lido::test::leak_once();
}
