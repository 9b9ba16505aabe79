/// @file
/// dcm_pool's own benchmark, with the columns of its conclusion: frames of 15,000 loops, each of
/// which adds an object, updates all, and removes the dead ones. The same work is also measured in
/// bursts: 15,000 objects at once, so that adding and removing can be timed without the clock in
/// between.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "containers.hpp"
#include "dense_slot_map.hpp"
#include "sparse_set.hpp"

namespace {

using lido_bench::dice;
using lido_bench::object;
using clock_type = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

/// Calls a function through a pointer for each object, as dcm_pool does.
class called_hash_map_pool : public lido_bench::hash_map_pool {
 public:
  static constexpr std::string_view name = "hash_map_pool_called";
  template <class F>
  void walk_and_collect(F f) {
    const std::function<bool(object&)> callback = f;
    hash_map_pool::walk_and_collect<const std::function<bool(object&)>&>(callback);
  }
};

/// Visits all objects again and removes the dead one by one, as in that benchmark; in a vector by
/// moving the following objects up.
template <class Sequence>
class naive {
 public:
  void add(std::int32_t points) { values_.emplace_back(points); }
  template <class F>
  void walk_and_collect(F f) {
    for (object& value : values_) {
      (void)f(value);
    }
  }
  void release() {
    for (auto it = values_.begin(); it != values_.end();) {
      it = it->hp <= 0 ? values_.erase(it) : std::next(it);
    }
  }
  [[nodiscard]] std::size_t size() const { return values_.size(); }

 private:
  Sequence values_;
};

struct naive_vector : naive<std::vector<object>> {
  static constexpr std::string_view name = "naive_vector";
};
struct naive_list : naive<std::list<object>> {
  static constexpr std::string_view name = "naive_list";
};

/// How the objects of a frame are added, and for how many updates they live. That number is 1 to
/// `longest` and drawn when an object is added, so that an update costs no more than it must.
struct shape {
  const char* title;
  int frames;
  int loops;
  int at_once;
  std::uint32_t longest;
};

constexpr int objects_per_frame = 15'000;

struct times {
  double iterating = 0;
  double allocating = 0;
  double releasing = 0;
  std::uint64_t updates = 0;
  std::size_t most = 0;

  [[nodiscard]] double total() const { return iterating + allocating + releasing; }
};

/// One frame: in each loop adds objects, updates all, removes the dead.
template <class Container>
times frame(Container& container, dice& random, const shape& is) {
  times sum;
  for (int loop = 0; loop < is.loops; ++loop) {
    const auto start = clock_type::now();
    for (int i = 0; i < is.at_once; ++i) {
      container.add(static_cast<std::int32_t>(1 + random(is.longest)));
    }
    const auto added = clock_type::now();
    sum.updates += container.size();
    container.walk_and_collect([](object& value) { return --value.hp <= 0; });
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

/// Returns the last of the frames; those before fill the container.
template <class Container>
times last_frame(const shape& is) {
  Container container;
  dice random;
  times last;
  for (int i = 0; i < is.frames; ++i) {
    last = frame(container, random, is);
  }
  return last;
}

struct contender {
  std::string_view name;
  times (*run)(const shape&);
  std::vector<times> found;
};

template <class Container>
contender one_of() {
  return {Container::name, last_frame<Container>, {}};
}

std::vector<contender> contenders_for(const shape& is) {
  using lido::compaction_mode;
  std::vector<contender> all{one_of<lido_bench::lido_map<compaction_mode::deferred>>(),
                             one_of<lido_bench::lido_map<compaction_mode::immediate>>(),
                             one_of<lido_bench::dense_slot_map>(),
                             one_of<lido_bench::sparse_set>(),
                             one_of<lido_bench::std_vector>(),
                             one_of<lido_bench::std_list>(),
                             one_of<lido_bench::hash_map_pool>(),
                             one_of<called_hash_map_pool>(),
                             one_of<lido_bench::stable_vector>()};
#ifdef LIDO_BENCH_COLONY
  all.push_back(one_of<lido_bench::colony>());
#else
  std::printf("plf_colony is absent: libplf-colony-dev is not installed\n");
#endif
  if (is.at_once == 1) {  // with many dead at once the naive vector takes minutes
    all.push_back(one_of<naive_vector>());
    all.push_back(one_of<naive_list>());
  }
  return all;
}

/// Prints the run with the median total, of several that took turns with the others.
void print(contender& one) {
  const auto middle = one.found.begin() + static_cast<std::ptrdiff_t>(one.found.size() / 2);
  std::nth_element(one.found.begin(), middle, one.found.end(),
                   [](const times& a, const times& b) { return a.total() < b.total(); });
  std::printf("%-20.*s %10.4f %10.4f %10.4f %10.4f %12llu %10zu\n",
              static_cast<int>(one.name.size()), one.name.data(), middle->iterating,
              middle->allocating, middle->releasing, middle->total(),
              static_cast<unsigned long long>(middle->updates), middle->most);
}

/// Returns whether all containers had the same objects added and removed.
bool all_did_the_same(const std::vector<contender>& all) {
  const times& first = all.front().found.front();
  return std::all_of(all.begin(), all.end(), [&](const contender& one) {
    return std::all_of(one.found.begin(), one.found.end(), [&](const times& found) {
      return found.updates == first.updates && found.most == first.most;
    });
  });
}

/// Prints a table; returns false if the contenders did not do the same work.
bool table(const shape& is, int rounds) {
  std::printf("\n%s: %d frames, the last one shown, seconds; medians of %d\n", is.title, is.frames,
              rounds);
  std::vector<contender> all = contenders_for(is);
  for (int round = 0; round < rounds; ++round) {
    for (contender& one : all) {
      one.found.push_back(one.run(is));
    }
  }
  std::printf("%-20s %10s %10s %10s %10s %12s %10s\n", "", "Iterating", "Allocating", "Releasing",
              "Total", "Update Calls", "Objects");
  for (contender& one : all) {
    print(one);
  }
  (void)std::fflush(stdout);
  if (!all_did_the_same(all)) {
    std::printf("the contenders did not do the same work\n");
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_short = argc > 1 && std::string(argv[1]) == "--short";
  const int frames = is_short ? 2 : 3;
  const int rounds = is_short ? 1 : 5;
  // About 7000 objects live at a time, as in that benchmark.
  const int loops = objects_per_frame / (is_short ? 50 : 1);
  bool same = table({"One object a loop, as dcm_pool", frames, loops, 1, 14'000}, rounds);
  // About 120,000, for 8 updates each.
  same &=
      table({"15,000 objects a loop", frames, is_short ? 4 : 100, objects_per_frame, 15}, rounds);
  return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
