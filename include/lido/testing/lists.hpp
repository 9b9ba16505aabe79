/// @file
/// Public. Free lists for tests, as the option `list` of a pool.
#pragma once

#include <cstdint>
#include <memory>

#include "lido/concurrency/atomic.hpp"
#include "lido/freelist/index_list.hpp"
#include "lido/freelist/treiber_list.hpp"
#include "lido/testing/flaky_atomic.hpp"

namespace lido {
namespace detail {

template <class Head>
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final
class list_for_tests final : public shared_list {
 public:
  /// Tags have at most so many bits, and wrap after 2^bits releases that reach the list.
  ///
  /// A thread that stands still for exactly so many of them can be fooled, and so can an acquire
  /// that decides that the pool is exhausted. With several threads use 16 bits or more, unless that
  /// is what a test wants to see.
  explicit list_for_tests(unsigned most_tag_bits = 64) noexcept : most_tag_bits_(most_tag_bits) {}

  [[nodiscard]] bool can_grow() const noexcept override { return true; }

  [[nodiscard]] std::unique_ptr<index_list> make(std::uint32_t nodes, slot_index first,
                                                 room kind) const override {
    return std::make_unique<basic_treiber_list<Head>>(nodes, first, kind, most_tag_bits_);
  }

 private:
  unsigned most_tag_bits_;
};

}  // namespace detail

namespace testing {

/// Lido's own list, with narrow tags. It must outlive the pools that use it.
using narrow_tags = detail::list_for_tests<detail::shared_atomic<std::uint64_t>>;

/// The same, whose compare-and-swaps fail and are late far more often than by chance.
using flaky_list = detail::list_for_tests<detail::flaky_atomic<std::uint64_t>>;

}  // namespace testing
}  // namespace lido
