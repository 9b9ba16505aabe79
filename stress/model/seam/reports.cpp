/// What the library asks of the system for its reports: which thread runs, and where an address
/// lies.
#include "checker/execution.hpp"
#include "lido/debug/place.hpp"
#include "src/debug/report_text.hpp"

namespace lido::inline v0::detail {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as in the library
constinit thread_local std::uint32_t checked_thread_id = 0;

/// Not kept in `checked_thread_id`, which all threads of the model share.
std::uint32_t learn_thread_id() noexcept {
  return model::execution::now().self() + 1U;
}

report_text& report_text::operator<<(std::string_view /*text*/) noexcept {
  return *this;
}
report_text& report_text::where(place /*at*/) noexcept {
  return *this;
}
report_text& report_text::commands() noexcept {
  return *this;
}

}  // namespace lido::inline v0::detail
