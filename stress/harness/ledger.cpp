#include "harness/ledger.hpp"

#include <fmt/core.h>

namespace stress {

void report_second_owner(const run& run, unsigned me, unsigned other) {
  run.broken(fmt::format("thread {} finds owner {} in its object", me, other));
}

}  // namespace stress
