#include "lido/concurrency/backoff.hpp"

#include <gtest/gtest.h>

namespace lido::detail {
namespace {

TEST(ExponentialBackoff, ManyPausesEnd) {
  exponential_backoff backoff;
  for (int i = 0; i < 1000; ++i) {
    backoff.pause();
  }
}

TEST(YieldThread, ReturnsToTheCaller) {
  yield_thread();
}

TEST(NapThread, ReturnsToTheCaller) {
  nap_thread();
}

}  // namespace
}  // namespace lido::detail
