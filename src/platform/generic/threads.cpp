#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

namespace {

/// Calls `function` with `argument` in its destructor.
struct last_call {
  last_call() = default;
  last_call(const last_call&) = delete;
  last_call& operator=(const last_call&) = delete;
  ~last_call() {
    if (function != nullptr) {
      function(std::exchange(argument, nullptr));
    }
  }
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
};

thread_local last_call at_exit;

}  // namespace

bool thread_exit_hook::prepare(void (*function)(void*)) noexcept {
  function_ = function;
  (void)key_;  // no keys are used here
  return true;
}

bool thread_exit_hook::arm(void* argument) const noexcept {
  at_exit.function = function_;
  at_exit.argument = argument;
  return true;
}

void* thread_exit_hook::armed() const noexcept {
  (void)key_;  // as above
  return at_exit.argument;
}

signal_guard::signal_guard() noexcept = default;

signal_guard::~signal_guard() = default;

void name_thread(const char* /*name*/) noexcept {}

bool on_fork(void (* /*before*/)(), void (* /*parent*/)(), void (* /*child*/)()) noexcept {
  return true;
}

std::uint32_t process_id() noexcept {
  return 1;
}

}  // namespace lido::inline v0::detail::platform
