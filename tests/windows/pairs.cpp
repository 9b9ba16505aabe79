// Measures pairs with Lido in a DLL and with a static Lido, alternately. Nothing replaces the heavy
// fence here, so caches are locked under Wine, and revocable on Windows.
//
// Usage: pairs DLL.dll STATIC.dll
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "pair.hpp"
#include "support/modules.hpp"

namespace {

[[nodiscard]] bool runs_under_wine() {
  void* const system = ::GetModuleHandleW(L"ntdll.dll");
  return lido_test::find_function<void()>(system, "wine_get_version") != nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  using pair = decltype(lido_test_pair);
  std::array<pair*, 2> kinds{};
  std::array<double, 2> best{1e9, 1e9};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    void* const module = argc == 3 ? lido_test::load_module(argv[kind + 1]) : nullptr;
    kinds.at(kind) =
        module != nullptr ? lido_test::find_function<pair>(module, "lido_test_pair") : nullptr;
    if (kinds.at(kind) == nullptr) {
      std::printf("BROKEN: a module cannot be loaded\n");
      return EXIT_FAILURE;
    }
    auto* const are_locked = lido_test::find_function<decltype(lido_test_caches_are_locked)>(
        module, "lido_test_caches_are_locked");
    if (are_locked == nullptr || are_locked() != runs_under_wine()) {
      std::printf("BROKEN: caches are locked on Windows, or not under Wine\n");
      return EXIT_FAILURE;
    }
  }
  for (int turn = 0; turn < 10; ++turn) {
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
      best.at(kind) = (std::min)(best.at(kind), kinds.at(kind)());
    }
  }
  std::printf("report: pair_by_dll=%.1f pair_static=%.1f\n", best[0], best[1]);
  return EXIT_SUCCESS;
}
