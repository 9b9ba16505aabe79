#include "foreign.hpp"
#include "lido/platform/compiler.hpp"

extern "C" [[LIDO_VISIBLE]] foreign_kinds lido_test_foreign();
extern "C" foreign_kinds lido_test_foreign() {
  return foreign_kinds_here();
}
