/// @file
/// The objects of the pools under test: each carries a stamp from its maker, and all are counted.
#pragma once

#include <cstdint>

#include "fuzz/check.hpp"

namespace fuzz {

/// Thrown by a constructor that was told to throw.
struct refused {};

class payload {
 public:
  struct tally {
    long live = 0;
    /// Number of constructions or activations up to the one that throws; 0: none throws.
    std::uint32_t refuse_in = 0;
  };

  static tally& counts() noexcept {
    static tally counts;
    return counts;
  }

  payload() : payload(0) {}
  explicit payload(std::uint32_t stamp) : stamp_(stamp), complement_(~stamp) {
    count_down();
    ++counts().live;
  }
  payload(const payload&) = delete;
  payload& operator=(const payload&) = delete;
  ~payload() {
    check(complement_ == ~stamp_, "an object is destroyed that nobody has made");
    complement_ = stamp_;
    --counts().live;
  }

  /// Throws if it is due.
  static void count_down() {
    if (counts().refuse_in > 0 && --counts().refuse_in == 0) {
      throw refused{};
    }
  }

  [[nodiscard]] std::uint32_t stamp() const noexcept { return stamp_; }
  void restamp(std::uint32_t stamp) noexcept {
    stamp_ = stamp;
    complement_ = ~stamp;
  }

 private:
  std::uint32_t stamp_;
  std::uint32_t complement_;
};

}  // namespace fuzz
