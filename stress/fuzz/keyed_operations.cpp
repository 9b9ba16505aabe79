// Fuzz target: threads on a pool of resources, with keys or without, whose creates fail, hang and
// are stopped. They cancel waits, kill, flush, resize, replace the factory, suspend and close. Each
// wait ends once, each resource is destroyed, the numbers add up, and most acquires get a resource.
//
// The first byte chooses the pool, the next eight what creates do; the rest are the operations of
// three threads in turn.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <vector>

#include "fuzz/byte_reader.hpp"
#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "lido/resource_pool.hpp"

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

/// What the factory and the users of one pool have done.
struct books {
  std::array<std::uint8_t, 8> plan{};
  std::atomic<std::size_t> creates{0};
  std::atomic<int> alive{0};
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> got{0};
  std::atomic<std::uint64_t> ended{0};       ///< waits, either way
  std::atomic<std::uint64_t> forgivable{0};  ///< ended without a resource, by the user's wish
  std::atomic<std::uint64_t> left{0};        ///< by detach
};

struct thing {
  int uses = 0;  ///< which a data race would show
};

struct maker {
  books* all;

  [[nodiscard]] thing create(const lido::create_context& context) const {
    const unsigned what = all->plan.at(all->creates++ % all->plan.size());
    while (what >= 240 && !context.stop.stop_requested() &&
           steady_clock::now() < context.deadline) {
      std::this_thread::sleep_for(100us);
    }
    if (what >= 200) {
      throw std::runtime_error("refused");
    }
    ++all->alive;
    return {};
  }
  [[nodiscard]] static bool validate(thing& idle) { return ++idle.uses % 8 != 0; }
  [[nodiscard]] static bool reset(thing& used) { return ++used.uses % 16 != 0; }
  void destroy(thing& ended, lido::destroy_reason /*why*/) const noexcept {
    ++ended.uses;
    --all->alive;
  }
};
struct keyed_maker : maker {
  [[nodiscard]] thing create(int /*key*/, const lido::create_context& context) const {
    return maker::create(context);
  }
};

using plain_pool = lido::resource_pool<thing>;
using keyed_pool = lido::keyed_resource_pool<int, thing>;
using lease = lido::resource_lease<thing>;
using result = lido::acquire_result<thing>;

template <class Pool>
class user {
 public:
  static constexpr bool has_keys = std::is_same_v<Pool, keyed_pool>;

  user(Pool& pool, books& all) : pool_(&pool), all_(&all) {}

  void play(fuzz::byte_reader input) {
    while (input.more()) {
      const std::size_t what = input.below(16);
      const std::size_t how = input.byte();
      if constexpr (has_keys) {
        step(what, how, static_cast<int>(how % 3));
      } else {
        step(what, how);
      }
    }
  }

 private:
  static void note(books& all, bool is_got, bool is_forgivable) {
    all.got += is_got ? 1 : 0;
    all.forgivable += !is_got && is_forgivable ? 1 : 0;
    ++all.ended;
  }
  static void use(thing& mine) { ++mine.uses; }

  static void note(books& all, result& one, bool is_stopped) {
    if (one) {
      use(*one);
    }
    note(all, static_cast<bool>(one),
         is_stopped || (!one && one.failure() == lido::acquire_failure::closed));
  }

  /// Returns what acquires: the pool, or the view of a key.
  template <class... Key>
  decltype(auto) from(Key... key) {
    if constexpr (has_keys) {
      return pool_->at(key...);
    } else {
      return (*pool_);
    }
  }

  template <class... Key>
  void step(std::size_t what, std::size_t how, Key... key) {
    if (what < 12) {
      acquire(what, how, key...);
    } else if (what == 12) {
      how % 2 == 0 ? pool_->flush() : pool_->tick();
    } else if (what == 13) {
      pool_->suspend();
      std::this_thread::sleep_for(100us);
      pool_->resume();
    } else if (what == 14 && how < 8) {
      (void)pool_->close(std::chrono::milliseconds(how % 2));
    } else if constexpr (has_keys) {
      from(key...).flush();
    } else if (how % 4 == 0) {
      pool_->replace_factory(maker{all_});
    } else {
      pool_->resize(1 + how % 4);
    }
  }

  template <class... Key>
  void acquire(std::size_t what, std::size_t how, Key... key) {
    ++all_->asked;
    if (what < 4) {  // waits, perhaps for a callback, which may be cancelled at that moment
      std::stop_source stop;
      const bool is_stopped = how % 4 == 0;
      from(key...).async_acquire(
          [all = all_, is_stopped](result one) { note(*all, one, is_stopped); }, 200ms,
          stop.get_token());
      is_stopped ? (void)stop.request_stop() : (void)0;
      return;
    }
    result one = from(key...).try_acquire_for(what == 4 ? 0ms : 200ms);
    note(*all_, one, what == 4);
    if (!one) {
      return;
    }
    lease mine = one.value();
    if (what == 5) {
      (void)pool_->kill(mine.handle());
    } else if (what == 6) {
      mine.discard();
    } else if (what == 7) {
      use(*mine);
      (void)mine.detach();
      ++all_->left;
      --all_->alive;
    }
  }

  Pool* pool_;
  books* all_;
};

template <class Pool>
void play(Pool& pool, books& all, std::span<const std::uint8_t> bytes) {
  std::array<std::vector<std::uint8_t>, 3> parts;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    parts.at(i / 2 % parts.size()).push_back(bytes[i]);
  }
  {
    std::vector<std::jthread> threads;
    for (const auto& part : parts) {
      threads.emplace_back(
          [&pool, &all, &part] { user<Pool>(pool, all).play(fuzz::byte_reader(part)); });
    }
  }
  pool.resume();
  const auto end = steady_clock::now() + 20s;
  while (all.ended != all.asked && steady_clock::now() < end) {
    std::this_thread::sleep_for(100us);
  }
  fuzz::check(all.ended == all.asked, "a wait never ended, or twice");
  fuzz::check(pool.close(20s).complete(), "a pool whose users have left does not end");
  const lido::resource_pool_stats stats = pool.stats();
  fuzz::check(stats.acquires == all.got, "a use is counted twice, or not");
  fuzz::check(stats.in_use == 0 && stats.waiting == 0, "somebody is left");
  const std::uint64_t ended =
      std::accumulate(stats.destroyed.begin(), stats.destroyed.end(), stats.detached);
  fuzz::check(stats.created == ended && stats.detached == all.left,
              "resources come and go in other numbers");
}

/// Checks the sum over all inputs so far, since a single input may be unlucky.
void expect_most_to_be_served(const books& all) {
  static std::uint64_t asked = 0;
  static std::uint64_t got = 0;
  asked += all.asked - all.forgivable;
  got += all.got;
  fuzz::check(asked < 1000 || got > asked / 2, "most acquires get nothing");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span bytes(data, size);
  if (size < 9) {
    return 0;
  }
  books all;
  std::copy_n(bytes.begin() + 1, all.plan.size(), all.plan.begin());
  all.plan.front() = 0;  // or a pool could never serve a request
  const lido::resource_pool_options options{.max_size = 2,
                                            .min_idle = bytes[0] % 4 == 0 ? 1U : 0U,
                                            .create_timeout = 5ms,
                                            .keepalive = 2ms,
                                            .validate_if_idle_longer_than = 1ms,
                                            .retry_first = 100us,
                                            .retry_longest = 1ms};
  if (bytes[0] % 2 == 0) {
    std::optional<keyed_pool> pool;
    pool.emplace(keyed_maker{{&all}},
                 lido::keyed_resource_pool_options{.max_total = 3, .each_key = options});
    play(*pool, all, bytes.subspan(9));
  } else {
    std::optional<plain_pool> pool;
    pool.emplace(maker{&all}, options);
    play(*pool, all, bytes.subspan(9));
  }
  const auto end = steady_clock::now() + 20s;  // a thread of the pool may be about to end
  while (all.alive != 0 && steady_clock::now() < end) {
    std::this_thread::sleep_for(100us);
  }
  fuzz::check(all.alive == 0, "a resource outlives its pool");
  expect_most_to_be_served(all);
  return 0;
}
