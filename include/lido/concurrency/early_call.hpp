/// @file
/// Internal. When to wake who is next in a queue before there is anything for it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lido::detail {

/// Who is first in a queue once the one before it was served may be woken at once, and stay awake
/// for about as long as a wake-up takes: then what comes next need not wait for a processor to wake
/// up (as the next few waiters of a lock are woken by Kashyap, Calciu, Cheng, Min, Kim: Scalable
/// and Practical Locking with Shuffling, SOSP 2019). Where things are held for longer than that,
/// it is for nothing: after a few times of that, ever more are served before it is tried again.
///
/// Thread-safety: as the queue that it is of.
class early_call {
 public:
  /// Whether to call who is next now. Asked for each that is served while another waits.
  [[nodiscard]] bool is_due() noexcept {
    if (left_ > 0) {
      --left_;
      return false;
    }
    left_ = (1U << in_vain_) >> few;
    return true;
  }

  /// One that was called, and has heard it, is being served.
  void has_come_for(bool awake) noexcept { in_vain_ = awake ? 0 : std::min(in_vain_ + 1, most); }

 private:
  static constexpr unsigned few = 3;
  static constexpr unsigned most = few + 6;  // once in 65

  unsigned in_vain_ = 0;    // calls in a row
  std::uint32_t left_ = 0;  // to be served before the next
};

}  // namespace lido::detail
