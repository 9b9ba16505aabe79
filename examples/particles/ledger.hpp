/// @file
/// Records what became of each particle, independently of the map.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace particles {

enum class ending : std::uint8_t { died, evicted };

struct tally {
  std::size_t refused = 0;
  std::size_t born = 0;
  std::size_t died = 0;
  std::size_t evicted = 0;

  [[nodiscard]] std::size_t alive() const noexcept { return born - died - evicted; }
};

/// Records births and ends, in one thread. An entry that cannot be true, such as a second death,
/// becomes a complaint and changes no number.
class ledger {
 public:
  explicit ledger(std::size_t most_births) : lives_(most_births) {}

  void refused() noexcept { ++sums_.refused; }

  void born(std::uint32_t number) {
    if (!change(number, unborn, alive)) {
      complain(fmt::format("particle {} cannot be born", number));
    } else {
      ++sums_.born;
    }
  }

  void ended(std::uint32_t number, ending how) {
    if (!change(number, alive, gone)) {
      complain(fmt::format("particle {} ended, but was not alive", number));
    } else {
      ++(how == ending::died ? sums_.died : sums_.evicted);
    }
  }

  /// One answer to a roll call of all particles in the map.
  void present(std::uint32_t number) {
    if (!change(number, alive, seen)) {
      complain(fmt::format("particle {} is a ghost, or there twice", number));
    }
  }

  /// Ends a roll call: complains of particles that did not answer, and of a map that counts others
  /// than the books.
  void compare(std::size_t in_map) {
    for (std::uint32_t number = 0; number < lives_.size(); ++number) {
      if (lives_[number] == alive) {
        complain(fmt::format("particle {} is lost", number));
      }
      change(number, seen, alive);
    }
    if (in_map != sums_.alive()) {
      complain(fmt::format("the map says {} are in it, the books say {}", in_map, sums_.alive()));
    }
  }

  /// Keeps the first few.
  void complain(std::string what) {
    if (wrong_.size() < 20) {
      wrong_.push_back(std::move(what));
    }
  }

  [[nodiscard]] const tally& totals() const noexcept { return sums_; }
  [[nodiscard]] const std::vector<std::string>& wrong() const noexcept { return wrong_; }

 private:
  enum state : std::uint8_t { unborn, alive, seen, gone };

  /// Returns false, without effect, if the particle is not in the state `from`.
  bool change(std::uint32_t number, state from, state to) {
    if (number >= lives_.size() || lives_[number] != from) {
      return false;
    }
    lives_[number] = to;
    return true;
  }

  std::vector<state> lives_;  ///< by number
  tally sums_;
  std::vector<std::string> wrong_;
};

}  // namespace particles
