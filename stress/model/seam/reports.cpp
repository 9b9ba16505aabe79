/// What the library asks of the system for its reports: which thread runs, and where an address
/// lies.
#include "checker/execution.hpp"
#include "lido/debug/thread_label.hpp"
#include "src/debug/place_text.hpp"

namespace lido::detail {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as in the library
constinit thread_local std::uint32_t checked_thread_id = 0;

/// Not kept in `checked_thread_id`, which all threads of the model share.
std::uint32_t learn_thread_id() noexcept {
  return model::execution::now().self() + 1U;
}

void describe(report_text& /*text*/, place /*at*/) noexcept {}

}  // namespace lido::detail
