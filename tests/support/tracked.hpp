/// @file
/// An instrumented type: counts what happens to its objects and throws on request.
#pragma once

#include <exception>

namespace lido::test {

/// Thrown by a constructor that was told to throw.
struct refused : std::exception {};

/// For single-threaded tests; `tracked_test` resets the counts before each test.
class tracked {
 public:
  struct tally {
    int constructed = 0;
    int destroyed = 0;
    int refuse_at = 0;  ///< number of the construction from now that throws; 0: none

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
