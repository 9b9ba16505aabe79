/// @file
/// Free lists whose compare-and-swaps fail at random, or whose tags are narrow, for the option
/// `list` of a pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "freelist/treiber_list.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/freelist/index_list.hpp"

namespace lido::test {

inline constinit detail::atomic<std::uint64_t> flaky_threads{0};  ///< threads that have thrown
inline constinit thread_local std::uint64_t flaky_dice = 0;

/// Returns the next number of a pseudo-random sequence (Steele, Lea, Flood: SplitMix, OOPSLA 2014).
/// The sequence of the n-th thread is the same in each run.
[[nodiscard]] inline std::uint64_t throw_flaky_dice() noexcept {
  if (flaky_dice == 0) {
    // relaxed: a count
    flaky_dice = (flaky_threads.fetch_add(1, std::memory_order_relaxed) + 1) << 32U;
  }
  std::uint64_t mixed = flaky_dice += 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31U);
}

/// The part of `atomic` that a free list needs. A weak compare-and-swap is allowed to fail without
/// a reason; here, one in five does. Before one in fifty, the thread lets other threads run.
class flaky_atomic {
 public:
  explicit constexpr flaky_atomic(std::uint64_t value) noexcept : value_(value) {}

  [[nodiscard]] std::uint64_t load(std::memory_order order) const noexcept {
    return value_.load(order);
  }

  bool compare_exchange_weak(std::uint64_t& expected, std::uint64_t desired,
                             std::memory_order success_order,
                             std::memory_order failure_order) noexcept {
    if (throw_flaky_dice() % 50 == 0) {
      throw_flaky_dice() % 4 == 0 ? detail::nap_thread() : detail::yield_thread();
    }
    if (throw_flaky_dice() % 5 == 0) {
      expected = value_.load(failure_order);
      return false;
    }
    return value_.compare_exchange_weak(expected, desired, success_order, failure_order);
  }

 private:
  detail::atomic<std::uint64_t> value_;
};

template <class Head>
class list_for_tests final : public shared_list {
 public:
  /// Limits tags to `most_tag_bits` bits: they wrap after 2^most_tag_bits releases that reach the
  /// list.
  ///
  /// A thread that is suspended for exactly that many releases can be fooled. So can an acquire
  /// that decides that the pool is exhausted. Tests with several threads should use 16 bits or
  /// more, unless they are meant to show such an error.
  explicit list_for_tests(unsigned most_tag_bits = 64) noexcept : most_tag_bits_(most_tag_bits) {}

  [[nodiscard]] bool can_grow() const noexcept override { return true; }
  [[nodiscard]] std::size_t bytes_needed(std::uint32_t nodes) const noexcept override {
    return detail::basic_treiber_list<Head>::bytes_needed(nodes);
  }

  [[nodiscard]] std::unique_ptr<detail::index_list> make(std::uint32_t nodes,
                                                         detail::slot_index first,
                                                         detail::growth kind) const override {
    return std::make_unique<detail::basic_treiber_list<Head>>(nodes, first, kind, most_tag_bits_);
  }

 private:
  unsigned most_tag_bits_;
};

/// Lido's own list, with narrow tags. It must outlive the pools that use it.
using narrow_tags = list_for_tests<detail::shared_atomic<std::uint64_t>>;

/// Lido's own list, whose compare-and-swaps fail and are delayed far more often than by chance.
using flaky_list = list_for_tests<flaky_atomic>;

}  // namespace lido::test
