/// Linked to a driver whose library asks at run time which rule is broken: LIDO_BROKEN_RULE names
/// it.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>

#include "mutants/rules.hpp"

namespace {

/// At the end of a run that has noticed nothing: whether it could have.
void say_whether_met() {
  if (lido::detail::was_met(lido::detail::active_mutation)) {
    (void)std::puts("the broken rule was met");
  }
}

bool break_named_rule() noexcept {
  const char* const name = std::getenv("LIDO_BROKEN_RULE");  // NOLINT(concurrency-mt-unsafe)
  if (name == nullptr) {
    return false;
  }
  try {
    model::break_rule(name);
  } catch (const std::exception& error) {
    for (const char* const text : {"LIDO_BROKEN_RULE: ", error.what(), "\n"}) {
      (void)std::fputs(text, stderr);
    }
    std::_Exit(2);
  }
  return std::atexit(&say_whether_met) == 0;
}

/// Before main, and so before any thread of a driver.
[[maybe_unused]] const bool rule_is_broken = break_named_rule();

}  // namespace
