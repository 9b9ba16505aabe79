/// @file
/// Internal. Decides when to wake the next waiter of a queue before there is an item for it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lido::detail {

/// Decides whether a queue wakes its new first waiter as soon as the one before was served. That
/// waiter stays awake for about as long as a wake-up takes, so the next item need not wait for one.
/// Where items are held for longer, the call is in vain; after a few such calls in a row, calls
/// become rarer. After Kashyap, Calciu, Cheng, Min, Kim: Scalable and Practical Locking with
/// Shuffling, SOSP 2019.
///
/// Thread-safety: that of its queue.
class early_call {
 public:
  /// Whether to call the next waiter now. Asked whenever waiters were served and another one waits.
  [[nodiscard]] bool is_due() noexcept {
    if (left_ > 0) {
      --left_;
      return false;
    }
    left_ = (1U << in_vain_) >> few;
    return true;
  }

  /// A waiter that was called, and has noticed it, is being served. `awake`: it has not gone back
  /// to sleep.
  void has_come_for(bool awake) noexcept { in_vain_ = awake ? 0 : std::min(in_vain_ + 1, most); }

 private:
  static constexpr unsigned few = 3;
  static constexpr unsigned most = few + 6;  // once in 65

  unsigned in_vain_ = 0;    // calls in a row
  std::uint32_t left_ = 0;  // times to serve before the next call
};

}  // namespace lido::detail
