// Fuzz target: sequences of operations on a whole pool, by threads that take turns.
//
// The first three bytes choose the kind of pool, capacity and the largest cache, the rest are
// operations.
#include <span>

#include "fuzz/pool_kind.hpp"
#include "fuzz/pool_session.hpp"
#include "fuzz/target.hpp"
#include "lido/concurrency/thread_number.hpp"

namespace {

namespace test = lido::test;

template <class Traits, class... Presets>
void play(fuzz::byte_reader& input, const lido::object_pool_options& options) {
  fuzz::pool_session<fuzz::pool_kind<fuzz::payload, Traits, Presets...>> session(input, options);
  session.play();
}

using plain = lido::pool_traits<fuzz::payload>;
using tracking = fuzz::tracking_traits<fuzz::payload>;

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Always number 1 for this thread, so that the other numbers are the same in every run.
  (void)lido::detail::assign_thread_number();
  fuzz::byte_reader input(std::span(data, size));
  const std::size_t kind = input.below(8);
  const std::size_t capacity = 1 + input.below(200);
  const std::size_t most = input.byte();
  const lido::object_pool_options options{
      .capacity = capacity, .name = "fuzzed", .max_cached = most < 128 ? most : 512};
  switch (kind) {
    case 0:
      play<plain>(input, options);
      break;
    case 1:
      play<tracking>(input, options);
      break;
    case 2:
      play<plain, test::locked_caches>(input, options);
      break;
    case 3:
      play<tracking, test::locked_caches>(input, options);
      break;
    case 4:
      play<plain, test::no_caches>(input, options);
      break;
    case 5:
      play<tracking, test::no_caches>(input, options);
      break;
    case 6:
      play<plain, test::over_boost>(input, options);
      break;
    default:
      play<plain, test::over_boost, test::locked_caches>(input, options);
      break;
  }
  return 0;
}
