// How much threads contend for a pool, as numbers of an interval.
#include <cstdint>
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <thread>
#include <utility>
#include <vector>

// [snippet]
struct message {
  long words[8] = {};
};
struct message_traits : lido::pool_traits<message> {
  static constexpr bool counts = true;  // counts hits, too, which costs 0.3 ns an acquire
};
using message_pool = lido::object_pool<message, message_traits>;

struct contention {  // events in 1,000 acquires
  double misses, refills, thefts;
};

contention between(const lido::slot_pool_stats& before, const lido::slot_pool_stats& now) {
  const auto acquires = static_cast<double>(*now.acquires - *before.acquires);
  const auto in_1000 = [&](std::uint64_t events) {
    return acquires > 0 ? 1000 * static_cast<double>(events) / acquires : 0;
  };
  return {.misses = in_1000(now.slow_acquires - before.slow_acquires),
          .refills = in_1000(now.refills - before.refills),
          .thefts = in_1000(now.thefts - before.thefts)};
}
// [/snippet]

int main() try {
  message_pool pool{{.capacity = 20'000, .name = "messages"}};
  const auto start = pool.stats();
  for (int i = 0; i < 100'000; ++i) {
    const auto one = pool.acquire();
  }
  const auto middle = pool.stats();
  for (int i = 0; i < 10; ++i) {
    std::vector<message_pool::lease_type> batch(10'000);
    for (auto& one : batch) {
      one = pool.acquire();
    }
    const std::jthread consumer([all = std::move(batch)] {});  // ends the leases
  }
  const contention alone = between(start, middle);
  const contention handed_over = between(middle, pool.stats());
  std::clog << alone.misses << " and " << handed_over.misses << " misses\n";
  std::cout << (alone.misses < 1) << (handed_over.misses < 1) << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   10
