/// @file
/// The books of the fountain: the fate of each particle, recorded beside the pools and not by them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "complaints.hpp"

namespace particles {

enum class ending : std::uint8_t { died, evicted };

struct tally {
  std::size_t asked = 0;
  std::size_t refused = 0;
  std::size_t born = 0;
  std::size_t died = 0;
  std::size_t evicted = 0;

  [[nodiscard]] std::size_t alive() const noexcept { return born - died - evicted; }
};

/// Any thread may make entries; `totals` and `found_wrong` require that none does at that time. An
/// impossible entry, such as a second death, becomes a complaint and changes no number.
class ledger {
 public:
  explicit ledger(std::size_t most_births) : life_(most_births) {}

  void asked() noexcept { count(asked_); }
  void refused() noexcept { count(refused_); }
  void born(std::uint32_t number);
  void ended(std::uint32_t number, ending how);

  /// Returns whether the particle is alive according to the books.
  [[nodiscard]] bool is_alive(std::size_t number) const noexcept;
  [[nodiscard]] std::size_t most_births() const noexcept { return life_.size(); }
  [[nodiscard]] tally totals() const noexcept;

  [[nodiscard]] complaints& found_wrong() noexcept { return found_wrong_; }

 private:
  enum state : std::uint8_t { unborn, alive, gone };
  using counter = std::atomic<std::size_t>;

  static void count(counter& what) noexcept { what.fetch_add(1, std::memory_order_relaxed); }

  std::vector<std::atomic<std::uint8_t>> life_;
  counter asked_ = 0;
  counter refused_ = 0;
  counter born_ = 0;
  counter died_ = 0;
  counter evicted_ = 0;
  complaints found_wrong_;
};

}  // namespace particles
