#include "foreign.hpp"

extern "C" [[gnu::visibility("default")]] foreign_kinds lido_test_foreign();
extern "C" foreign_kinds lido_test_foreign() {
  return foreign_kinds_here();
}
