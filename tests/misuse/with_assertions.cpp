// Compiled with LIDO_ASSERTIONS=1.
#include "one_mode.hpp"

void misuse_with_assertions() {
  lido::test::misuse_once_each();
  lido::test::leak_once();
}
