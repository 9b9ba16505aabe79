/// Linked to a program whose library asks at run time which rule is broken: LIDO_BROKEN_RULE names
/// it; "none", or no name at all, breaks nothing.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "mutants/rules.hpp"

namespace {

/// Prints, at the end of a run that found nothing, whether the broken rule was met.
void say_whether_met() {
  if (lido::detail::was_met(lido::detail::active_mutation)) {
    (void)std::puts("the broken rule was met");
  }
}

bool break_named_rule() noexcept {
  const char* const name = std::getenv("LIDO_BROKEN_RULE");  // NOLINT(concurrency-mt-unsafe)
  if (name == nullptr || std::string_view(name) == "none") {
    return false;
  }
  for (const lido::detail::named_rule& known : lido::detail::rule_table) {
    if (known.name == name) {
      lido::detail::active_mutation = known.rule;
      return std::atexit(&say_whether_met) == 0;
    }
  }
  for (const char* const text : {"LIDO_BROKEN_RULE: there is no rule '", name, "'\n"}) {
    (void)std::fputs(text, stderr);
  }
  std::_Exit(2);
}

/// Initialised before main, and so before any thread of a driver.
[[maybe_unused]] const bool rule_is_broken = break_named_rule();

}  // namespace
