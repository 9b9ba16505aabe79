// Fuzz target: the same operations on pools that grow, block, keep their objects, or are checked.
// It also tries what only these have: segments that are added and returned, and deliberate misuse.
//
// The first three bytes choose the kind of pool, capacity and the largest cache, the rest are
// operations.
#include <algorithm>
#include <array>
#include <span>

#include "fuzz/pool_kind.hpp"
#include "fuzz/pool_session.hpp"
#include "fuzz/target.hpp"
#include "lido/concurrency/thread_number.hpp"

namespace {

namespace test = lido::test;

template <class T, class Traits, class... Presets>
void play(fuzz::byte_reader& input, std::size_t slots, std::size_t most_cached) {
  using kind = fuzz::pool_kind<T, Traits, Presets...>;
  lido::object_pool_options options{.name = "fuzzed", .max_cached = most_cached};
  if constexpr (kind::grows) {
    options.max_capacity = slots;
    options.capacity = input.below(slots + 1);
  } else {
    options.capacity = slots;
  }
  if constexpr (kind::keeps) {
    options.creation = slots % 2 == 0 ? lido::creation::eager : lido::creation::lazy;
  }
  fuzz::pool_session<kind> session(input, options);
  session.play();
}

using fuzz::large_payload;
using fuzz::payload;

using large = lido::pool_traits<large_payload>;
using plain = lido::pool_traits<payload>;
using checked = lido::checked_traits<payload>;

constexpr std::array kinds{
    &play<large_payload, large, test::grows>,
    &play<large_payload, fuzz::tracking_traits<large_payload>, test::grows>,
    &play<large_payload, large, test::grows, test::no_caches>,
    &play<large_payload, fuzz::kept_traits<large_payload>, test::grows>,
    &play<payload, plain, test::waits>,
    &play<payload, plain, test::waits, test::locked_caches>,
    &play<payload, fuzz::kept_traits<payload>>,
    &play<payload, checked>,
    &play<payload, checked, test::no_caches>,
    &play<payload, fuzz::checked_kept_traits<payload>>,
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Always number 1 for this thread, so that the other numbers are the same in every run.
  (void)lido::detail::assign_thread_number();
  fuzz::byte_reader input(std::span(data, size));
  const auto play_kind = kinds.at(input.below(kinds.size()));
  const std::size_t slots = 1 + input.below(200);
  const std::size_t most_cached = std::min<std::size_t>(input.byte(), 128) * 4;
  play_kind(input, slots, most_cached);
  return 0;
}
