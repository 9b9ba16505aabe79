/// @file
/// Internal. The wait of a coroutine for what a callback is given.
#pragma once

#include <coroutine>
#include <memory>
#include <stop_token>

#include "lido/base/callback.hpp"

namespace lido::inline v0::detail {

/// The wait of a coroutine. If the coroutine is destroyed before the wait ends, the outcome meant
/// for it is passed to `give_back(Outcome&)`, which argument-dependent lookup finds.
template <class Outcome>
class coroutine_wait {
 public:
  using start = callable_ref<completion<Outcome>, std::stop_token>;

  coroutine_wait() noexcept = default;
  coroutine_wait(const coroutine_wait&) = delete;
  coroutine_wait& operator=(const coroutine_wait&) = delete;
  ~coroutine_wait() {
    if (line_ != nullptr) {
      abandon();
    }
  }

  /// Calls `begin` with a callback, and with a token that passes on the requests of `stop` and the
  /// end of the coroutine. When the callback is called, writes its argument to `outcome`, and
  /// resumes the coroutine if it was suspended. Returns false if the coroutine need not be
  /// suspended. Throws std::bad_alloc, or whatever `begin` throws.
  [[nodiscard]] bool begin(const std::stop_token& stop, Outcome& outcome,
                           std::coroutine_handle<> coroutine, const start& begin);

 private:
  struct line;
  /// Ends the wait, unless it has ended. Requires: `begin` was called.
  void abandon() noexcept;

  std::shared_ptr<line> line_;
};

}  // namespace lido::inline v0::detail
