/// @file
/// dcm_pool's own benchmark, with the columns of its conclusion: frames of 15,000 loops, each of
/// which adds an object, updates all, and removes those that died. And the same work in bursts:
/// 15,000 objects at once, so that adding and removing can be timed without the clock in between.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "slot_map/containers.hpp"

namespace {

using lido_bench::dice;
using lido_bench::object;
using clock_type = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

/// How the objects of a frame come and how long they live: an update in `sides` takes one of their
/// `points`.
struct shape {
  const char* title;
  int frames;
  int loops;
  int at_once;
  int points;
  std::uint32_t sides;
};

constexpr int objects_per_frame = 15'000;

struct times {
  double iterating = 0;
  double allocating = 0;
  double releasing = 0;
  std::uint64_t updates = 0;
  std::size_t most = 0;
};

/// One frame: in each loop adds objects, updates all, removes the dead.
template <class Container>
times frame(Container& container, dice& random, const shape& is) {
  times sum;
  for (int loop = 0; loop < is.loops; ++loop) {
    const auto start = clock_type::now();
    for (int i = 0; i < is.at_once; ++i) {
      (void)container.add(object(is.points));
    }
    const auto added = clock_type::now();
    sum.updates += container.size();
    container.walk_and_collect([&](object& value) {
      value.hp -= random(is.sides) == 0 ? 1 : 0;
      return value.hp <= 0;
    });
    const auto updated = clock_type::now();
    container.release();
    const auto released = clock_type::now();
    sum.allocating += seconds(added - start).count();
    sum.iterating += seconds(updated - added).count();
    sum.releasing += seconds(released - updated).count();
    sum.most = std::max(sum.most, container.size());
  }
  return sum;
}

/// The frames before the last one fill the container.
template <class Container>
void run(const shape& is) {
  Container container;
  dice random;
  times last;
  for (int i = 0; i < is.frames; ++i) {
    last = frame(container, random, is);
  }
  std::printf("%-20.*s %10.4f %10.4f %10.4f %12llu %10zu\n",
              static_cast<int>(Container::name.size()), Container::name.data(), last.iterating,
              last.allocating, last.releasing, static_cast<unsigned long long>(last.updates),
              last.most);
  (void)std::fflush(stdout);
}

void table(const shape& is) {
  std::printf("\n%s: %d frames, the last one shown, seconds\n", is.title, is.frames);
  std::printf("%-20s %10s %10s %10s %12s %10s\n", "", "Iterating", "Allocating", "Releasing",
              "Update Calls", "Objects");
  using lido::compaction_mode;
  run<lido_bench::lido_map<compaction_mode::deferred>>(is);
  run<lido_bench::lido_map<compaction_mode::immediate>>(is);
  run<lido_bench::std_vector>(is);
  run<lido_bench::std_list>(is);
  run<lido_bench::hash_map_pool>(is);
  run<lido_bench::stable_vector>(is);
#ifdef LIDO_BENCH_COLONY
  run<lido_bench::colony>(is);
#else
  std::printf("%-20s absent: libplf-colony-dev is not installed\n", "plf_colony");
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_short = argc > 1 && std::string(argv[1]) == "--short";
  const int frames = is_short ? 2 : 4;
  // About 7000 objects live at a time, as there.
  table({"One object a loop, as dcm_pool", frames, objects_per_frame / (is_short ? 50 : 1), 1, 100,
         70});
  // About 120,000, for 8 updates each.
  table({"15,000 objects a loop", frames, is_short ? 10 : 100, objects_per_frame, 4, 2});
  return EXIT_SUCCESS;
}
