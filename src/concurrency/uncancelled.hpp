/// @file
/// Internal. Keeps a thread from being cancelled where that would end the program.
#pragma once

#include <pthread.h>

namespace lido::detail {

/// For as long as it lives. What reports ask of the system are points of cancellation, as is what
/// users do in their functions, and what calls these is noexcept or keeps what they throw; a
/// request that comes meanwhile is seen at the next such point.
class uncancelled {
 public:
  uncancelled() noexcept { (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  uncancelled(const uncancelled&) = delete;
  uncancelled& operator=(const uncancelled&) = delete;
  ~uncancelled() { (void)pthread_setcancelstate(before_, nullptr); }

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace lido::detail
