/// Linked to a driver whose library asks at run time which rule is broken: LIDO_BROKEN_RULE names
/// it.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "mutants/rules.hpp"

namespace {

/// Before main, and so before any thread of a driver.
[[maybe_unused]] const bool rule_is_broken = [] {
  const char* const name = std::getenv("LIDO_BROKEN_RULE");  // NOLINT(concurrency-mt-unsafe)
  if (name == nullptr) {
    return false;
  }
  try {
    model::break_rule(name);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "LIDO_BROKEN_RULE: %s\n", error.what());
    std::_Exit(2);
  }
  return true;
}();

}  // namespace
