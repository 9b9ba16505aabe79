#include "fuzz/misuse_watch.hpp"

#include <optional>
#include <string>

#include "fuzz/check.hpp"

namespace fuzz {

namespace {

std::optional<lido::misuse_kind> expected;

// One thread runs at a time, so a plain variable will do.
void hear(const lido::misuse& what) noexcept {
  check(expected == what.kind, "a misuse was reported that is none, or as another one");
  expected.reset();
}

}  // namespace

misuse_watch::misuse_watch() {
  (void)lido::set_misuse_handler(&hear);
}

misuse_watch::~misuse_watch() {
  (void)lido::set_misuse_handler(nullptr);
}

void misuse_watch::begin(lido::misuse_kind kind) {
  expected = kind;
}

void misuse_watch::end() {
  check(!expected, "a misuse was not reported");
}

}  // namespace fuzz
