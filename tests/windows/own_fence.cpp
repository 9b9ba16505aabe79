// On a Windows machine the library has the system's heavy fence, and nothing replaces it.
#include "support/wine_fence.hpp"

namespace lido::test {

bool choose_heavy_fence(heavy_fence kind) noexcept {
  return kind == heavy_fence::real;
}

}  // namespace lido::test
