/// @file
/// An instrumented type: counts what happens to its objects and throws on order.
#pragma once

#include <exception>

namespace lido::test {

/// What a constructor throws that was told to.
struct refused : std::exception {};

/// For tests of one thread; `tracked_test` starts each of them from zero.
class tracked {
 public:
  struct tally {
    int constructed = 0;
    int destroyed = 0;
    int refuse_at = 0;  ///< the how-manieth construction from now throws; 0: none

    [[nodiscard]] int live() const noexcept { return constructed - destroyed; }
  };

  static tally& counts() noexcept {
    static tally counts;
    return counts;
  }

  tracked() : tracked(0) {}
  explicit tracked(int value) : value_(value) {
    if (counts().refuse_at > 0 && --counts().refuse_at == 0) {
      throw refused();
    }
    ++counts().constructed;
  }
  tracked(const tracked&) = delete;
  tracked& operator=(const tracked&) = delete;
  ~tracked() { ++counts().destroyed; }

  [[nodiscard]] int value() const noexcept { return value_; }

 private:
  int value_;
};

}  // namespace lido::test
