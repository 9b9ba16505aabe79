/// @file
/// Internal. Runs an action when a scope is left, unless the action was dismissed.
#pragma once

#include <utility>

namespace lido::inline v0::detail {

/// Works like std::experimental::scope_exit. `Action` must not throw.
template <class Action>
class [[nodiscard]] scope_exit {
 public:
  explicit scope_exit(Action action) noexcept : action_(std::move(action)) {}
  scope_exit(const scope_exit&) = delete;
  scope_exit& operator=(const scope_exit&) = delete;
  ~scope_exit() {
    if (armed_) {
      action_();
    }
  }

  void dismiss() noexcept { armed_ = false; }

 private:
  Action action_;
  bool armed_ = true;
};

template <class Action>
scope_exit(Action) -> scope_exit<Action>;

}  // namespace lido::inline v0::detail
