/// @file
/// Compares keyed resource pools: an idle resource of the thread's key, and more threads than
/// resources with one key, with a few, and with one for each thread.
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "contenders.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "team.hpp"

namespace {

using namespace std::chrono_literals;
using lido_bench::query;
using lido_bench::resources;
using lido_bench::result;
using lido_bench::stub_connection;
using lido_bench::time_per_use_of;
using lido_bench::touch;

/// The maximum number of resources of all keys, and of each.
struct limits {
  std::size_t total = resources;
  std::size_t each = resources;
};

class lido_keyed {
 public:
  static constexpr std::string_view name = "lido_keyed";
  explicit lido_keyed(const limits& most, std::chrono::nanoseconds prefer_same_key_for = 10ms)
      : pool_([](unsigned) { return stub_connection(); },
              {.max_total = most.total,
               .prefer_same_key_for = prefer_same_key_for,
               .each_key = {.max_size = most.each}}) {}

  template <class Use>
  void with_one(unsigned key, const Use& use) {
    const auto lease = pool_.at(key).acquire();
    use(*lease);
  }

 private:
  lido::keyed_resource_pool<unsigned, stub_connection> pool_;
};

/// Lido without preference for a key, like the peer below.
class lido_in_turn : public lido_keyed {
 public:
  static constexpr std::string_view name = "lido_in_turn";
  explicit lido_in_turn(const limits& most) : lido_keyed(most, 0ns) {}
};

/// Lido's pool without keys, for a single key.
class lido_keyless : public lido_bench::lido_resources {
 public:
  static constexpr std::string_view name = "lido_without_keys";
  explicit lido_keyless(const limits& most) : lido_resources(most.total) {}
  template <class Use>
  void with_one(unsigned /*key*/, const Use& use) {
    lido_resources::with_one(use);
  }
};

/// The usual hand-written pool: a mutex, the idle connections of each key, and one queue of
/// waiters, each with a condition variable of its own. It tracks no ages and makes no checks.
class mutex_map {
 public:
  static constexpr std::string_view name = "mutex_map_queue";
  explicit mutex_map(const limits& most) : room_(most.total) {}

  template <class Use>
  void with_one(unsigned key, const Use& use) {
    stub_connection mine = take(key);
    use(mine);
    give_back(key, mine);
  }

 private:
  struct waiter {
    unsigned key;
    std::condition_variable woken;
    bool served = false;
    bool may_make = false;
    stub_connection given{};
  };

  stub_connection take(unsigned key) {
    std::unique_lock lock(mutex_);
    std::vector<stub_connection>& own = idle_[key];
    if (waiting_.empty()) {
      if (!own.empty()) {
        const stub_connection one = own.back();
        own.pop_back();
        --idle_count_;
        return one;
      }
      if (room_ > 0) {
        --room_;
        return {};
      }
      if (idle_count_ > 0) {
        end_one();
        return {};
      }
    }
    waiter here{.key = key, .woken = {}};
    waiting_.push_back(&here);
    here.woken.wait(lock, [&] { return here.served; });
    return here.may_make ? stub_connection() : here.given;
  }

  void end_one() {
    for (auto& [key, all] : idle_) {
      if (!all.empty()) {
        all.pop_back();
        --idle_count_;
        return;
      }
    }
  }

  void give_back(unsigned key, stub_connection one) {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      idle_[key].push_back(one);
      ++idle_count_;
      return;
    }
    waiter& next = *waiting_.front();
    waiting_.pop_front();
    next.may_make = next.key != key;  // this one is destroyed, and its capacity is free
    next.given = one;
    next.served = true;
    next.woken.notify_one();
  }

  std::mutex mutex_;
  std::unordered_map<unsigned, std::vector<stub_connection>> idle_;
  std::list<waiter*> waiting_;
  std::size_t room_;
  std::size_t idle_count_ = 0;
};

struct plan {
  std::chrono::milliseconds length = 300ms;
  int rounds = 5;
};

/// A number of threads, and how each gets a key: it has a key of its own, if there are enough, or
/// draws one for each use.
struct crowd {
  unsigned threads;
  unsigned keys;
  const char* title;
  bool draws = false;
};
// Pairs do nothing with a resource, and there are enough for all threads.
constexpr crowd pairs[] = {
    {1, 1, "same/1"},          {2, 1, "same/2"},          {8, 1, "same/8"},
    {1, 1, "own/1"},           {2, 2, "own/2"},           {8, 8, "own/8"},
    {1, 8, "8 keys/1", true},  {2, 8, "8 keys/2", true},  {8, 8, "8 keys/8", true},
    {1, 1000, "1000/1", true}, {2, 1000, "1000/2", true}, {8, 1000, "1000/8", true}};
// Two microseconds of work, and eight resources: threads/keys.
constexpr crowd waits[] = {{16, 1, "16/1"},     {1000, 1, "1000/1"}, {16, 4, "16/4"},
                           {1000, 4, "1000/4"}, {16, 16, "16/each"}, {1000, 1000, "1000/each"}};

/// One thread's random keys, all equally likely.
class alignas(128) lots {
 public:
  unsigned draw(unsigned keys) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<unsigned>(((state_ >> 32) * keys) >> 32);
  }
  void seed(unsigned number) { state_ = number; }

 private:
  std::uint64_t state_ = 0;
};

template <class Pool>
struct runner {
  static constexpr std::string_view name = Pool::name;
  static constexpr bool has_keys = !std::is_same_v<Pool, lido_keyless>;
  std::array<result, std::size(pairs)> brief;
  std::array<result, std::size(waits)> lengthy;

  template <class Use>
  static double measure(const crowd& of, const plan& todo, const limits& most, const Use& use) {
    if (!has_keys && of.keys > 1) {
      return 0;
    }
    Pool pool(most);
    for (unsigned key = 0; of.draws && key < of.keys; ++key) {
      pool.with_one(key, touch);
    }
    std::vector<lots> own(of.threads);
    for (unsigned number = 0; number < of.threads; ++number) {
      own[number].seed(number);
    }
    return time_per_use_of(of.threads, todo.length, [&](unsigned number) {
      pool.with_one(of.draws ? own[number].draw(of.keys) : number % of.keys, use);
    });
  }

  void round(const plan& todo) {
    for (std::size_t i = 0; i < brief.size(); ++i) {
      const limits room{.total = resources * pairs[i].keys, .each = resources};
      brief[i].values.push_back(measure(pairs[i], todo, room, touch));
    }
    for (std::size_t i = 0; i < lengthy.size(); ++i) {
      lengthy[i].values.push_back(
          measure(waits[i], todo, {}, [](stub_connection& one) { query<2>(one); }));
    }
  }

  void print_brief() { print(brief, 1); }
  void print_lengthy() { print(lengthy, 0); }

 private:
  static void print(auto& all, int digits) {
    std::printf("%-18s", name.data());
    for (result& one : all) {
      std::printf(" %9.*f", digits, one.median());
    }
    std::puts("");
  }
};

void print_titles(const auto& crowds) {
  std::printf("%-18s", "contender");
  for (const crowd& one : crowds) {
    std::printf(" %9s", one.title);
  }
  std::puts("");
}

template <class... Contender>
void compare(const plan& todo, Contender&... contenders) {
  lido_bench::take_turns(todo, contenders...);
  std::printf(
      "wall time of all threads for one use, nanoseconds; medians of %d; 0: not measured\n"
      "nothing is done with a resource, and there is room for all: keys/threads\n",
      todo.rounds);
  print_titles(pairs);
  (contenders.print_brief(), ...);
  std::printf("2 us of work, %zu resources over all keys: threads/keys\n", resources);
  print_titles(waits);
  (contenders.print_lengthy(), ...);
}

/// Prints the published numbers, as ratios of this run.
template <class Keyed, class Peer>
void print_ratios(Keyed& keyed, Peer& peer) {
  const auto print = [](const crowd& of, result& ours, result& others) {
    std::printf("%s, %s: %.2f of the time of %s\n", Keyed::name.data(), of.title,
                ours.median() / others.median(), Peer::name.data());
  };
  for (std::size_t i = 0; i < std::size(pairs); ++i) {
    print(pairs[i], keyed.brief[i], peer.brief[i]);
  }
  for (std::size_t i = 0; i < std::size(waits); ++i) {
    print(waits[i], keyed.lengthy[i], peer.lengthy[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  plan todo;
  if (argc == 2 && std::string_view(argv[1]) == "--short") {
    todo = {.length = 20ms, .rounds = 1};
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: %s [--short]\n", argv[0]);
    return EXIT_FAILURE;
  }
  lido_bench::use_small_stacks();
  runner<lido_keyed> keyed;
  runner<lido_in_turn> in_turn;
  runner<lido_keyless> keyless;
  runner<mutex_map> peer;
  compare(todo, keyed, in_turn, keyless, peer);
  print_ratios(keyed, peer);
  print_ratios(in_turn, peer);
  return EXIT_SUCCESS;
}
