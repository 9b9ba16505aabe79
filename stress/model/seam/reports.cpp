/// What is behind the library's reports: the id of the running thread, texts that stay empty, and
/// misuses, which fail an execution.
#include "checker/execution.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/debug/misuse.hpp"
#include "src/debug/report_text.hpp"

namespace lido::inline v0::detail {

constinit thread_local std::uint32_t checked_thread_id = 0;

/// Does not store into `checked_thread_id`, which all threads of the model share.
std::uint32_t learn_thread_id() noexcept {
  return model::execution::now().self() + 1U;
}

report_text& report_text::operator<<(std::string_view /*text*/) noexcept {
  return *this;
}
report_text& report_text::where(code_address /*at*/) noexcept {
  return *this;
}
report_text& report_text::commands() noexcept {
  return *this;
}
report_text& report_text::append(std::uint64_t /*number*/, int /*base*/) noexcept {
  return *this;
}

void hand_over(const misuse& /*what*/) noexcept {
  model::execution::now().fail("a pool is misused");
}

}  // namespace lido::inline v0::detail
