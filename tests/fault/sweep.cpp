// Makes everything that can fail do so, the first, second, third ... time, once and then for ever,
// until a run has nothing left to fail. Each run is a separate process, since some of it happens
// once in a process. After each, there was the right exception, no memory is leaked, and no slot is
// missing.
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <latch>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "fault/injected.hpp"
#include "lido/checked.hpp"
#include "lido/object_pool.hpp"
#include "support/drain.hpp"
#include "support/failing_new.hpp"
#include "support/preset_pool.hpp"

namespace lido::test {
namespace {

constexpr int all_well = 0;
constexpr int broken = 1;
constexpr int nothing_failed = 10;

struct refused : std::exception {};
struct hook_refused : std::exception {};

/// An object whose constructor may be told to throw.
struct fragile {
  fragile() {
    if (fails(fault::constructor)) {
      throw refused();
    }
    ++live;
  }
  fragile(const fragile&) = delete;
  fragile& operator=(const fragile&) = delete;
  ~fragile() { --live; }
  static inline std::atomic<long> live{0};
};

/// An object of a page, so that a pool has many segments.
struct page : fragile {
  std::array<std::byte, 4000> rest;
};

/// Hooks of a pool that keeps its objects, which may be told to throw.
template <class T = fragile>
struct throwing_hooks {
  static void fail_if_due() {
    if (fails(fault::hook)) {
      throw hook_refused();
    }
  }
  static T create() {
    fail_if_due();
    return T();
  }
  static void activate(T& /*object*/) { fail_if_due(); }
  static void deactivate(T& /*object*/) { fail_if_due(); }
};

template <class T>
struct kept_traits : pool_traits<T> {
  using hooks = throwing_hooks<T>;
};
struct tracking_traits : pool_traits<fragile> {
  static constexpr bool track_in_use = true;
};
using kept_pool = object_pool<fragile, kept_traits<fragile>>;
using waiting_pool = preset_pool<fragile, pool_traits<fragile>, waits>;
using growing_pool = preset_pool<page, pool_traits<page>, grows>;
using growing_kept_pool = preset_pool<page, kept_traits<page>, grows>;
using checked_pool = object_pool<fragile, checked_traits<fragile>>;

template <class Pool>
using element = typename Pool::value_type;
template <class Pool>
inline constexpr bool has_segments =
    std::same_as<Pool, growing_pool> || std::same_as<Pool, growing_kept_pool>;

void require(bool held, std::string_view what) {
  if (!held) {
    fmt::print("BROKEN: {}: the {}{} {} failed\n", what, plan().first,
               plan().sticky ? " and later" : "", name_of(plan().what));
    (void)std::fflush(stdout);
    std::_Exit(broken);
  }
}

/// Runs one step, which may throw only exceptions that the injected fault can cause.
template <class Step>
void attempt(Step step) {
  const fault what = plan().what;
  try {
    step();
  } catch (const std::bad_alloc&) {
    require(what == fault::allocation, "an unexpected bad_alloc");
  } catch (const refused&) {
    require(what == fault::constructor, "an unexpected exception of a constructor");
  } catch (const hook_refused&) {
    require(what == fault::hook, "an unexpected exception of a hook");
  } catch (const pool_exhausted&) {
    require(false, "an unexpected pool_exhausted");
  }
}

/// A thread that fills its cache and runs until it is told to end; it may fail to start.
template <class Pool>
class neighbour {
 public:
  explicit neighbour(Pool& pool) : pool_(pool) {
    lives_ = ::pthread_create(&thread_, nullptr, &neighbour::run, this) == 0;
    if (lives_) {
      ready_.wait();
    }
  }
  neighbour(const neighbour&) = delete;
  neighbour& operator=(const neighbour&) = delete;
  ~neighbour() {
    if (lives_) {
      leave_.count_down();
      (void)::pthread_join(thread_, nullptr);
    }
  }

 private:
  static void* run(void* self) {
    static_cast<neighbour*>(self)->live();
    return nullptr;
  }

  void live() {
    for (int round = 0; round < 2; ++round) {
      std::array<element<Pool>*, 12> held{};
      for (element<Pool>*& object : held) {
        attempt([&] { object = pool_.try_acquire_ptr(); });
      }
      for (element<Pool>* const object : held) {
        pool_.release(object);
      }
    }
    ready_.count_down();
    leave_.wait();
  }

  Pool& pool_;
  std::latch ready_{1};  // not a barrier: that allocates
  std::latch leave_{1};
  pthread_t thread_{};
  bool lives_;
};

/// A thread that waits for a slot, and is given one. Requires: all slots are out.
class guest {
 public:
  explicit guest(waiting_pool& pool) : pool_(pool) {
    lives_ = ::pthread_create(&thread_, nullptr, &guest::run, this) == 0;
    while (lives_ && pool_.stats().waiting == 0) {
      ::sched_yield();
    }
  }
  guest(const guest&) = delete;
  guest& operator=(const guest&) = delete;
  ~guest() {
    if (lives_) {
      (void)::pthread_join(thread_, nullptr);
    }
  }

 private:
  static void* run(void* self) {
    attempt([&] { (void)static_cast<guest*>(self)->pool_.acquire(); });
    return nullptr;
  }

  waiting_pool& pool_;
  pthread_t thread_{};
  bool lives_;
};

/// Checks the errors of an exhausted pool: whatever fails while an error is made, there must be
/// one. Returns whether the pool reported that it is exhausted.
template <class Pool>
bool is_refused(Pool& pool) {
  bool refused_it = false;
  attempt([&] {
    if constexpr (std::same_as<Pool, waiting_pool>) {
      refused_it = !pool.acquire_for(std::chrono::microseconds(100));
    } else {
      try {
        (void)pool.acquire();
      } catch (const pool_exhausted&) {
        refused_it = true;
      }
    }
  });
  return refused_it;
}

/// Runs everything a pool does: hits, refills, flushes, growth, thefts, refusals, bulk, hooks.
template <class Pool>
void use(Pool& pool) {
  static std::array<element<Pool>*, 1000> places;
  std::size_t count = 0;
  // A cache needs many bursts before it requests more memory.
  const int bursts = plan().what == fault::allocation ? 12 : 2;
  for (int burst = 0; burst < bursts; ++burst) {
    for (std::size_t i = 0; i <= pool.capacity(); ++i) {
      element<Pool>* object = nullptr;
      attempt([&] { object = pool.try_acquire_ptr(); });
      if (object != nullptr) {
        places[count++] = object;
      }
    }
    if (count == pool.capacity()) {
      require(is_refused(pool) || plan().injected > 0 || plan().what == fault::allocation,
              "an exhausted pool did not say so");
      if constexpr (std::same_as<Pool, waiting_pool>) {
        const guest waits(pool);
        pool.release(places[--count]);
      }
    }
    pool.release_n(std::span(places).first(count));
    count = 0;
    std::array<element<Pool>*, 12> many{};
    attempt([&] { pool.release_n(std::span(many).first(pool.try_acquire_n(many))); });
    attempt([&] {
      std::list<element<Pool>*> list(many.size());
      if (pool.try_acquire_all(std::span(many))) {
        std::copy(many.begin(), many.end(), list.begin());
        pool.release_n(list);
      }
    });
    std::array<typename Pool::lease_type, 12> leases;
    attempt([&] { (void)pool.try_acquire_all(std::span(leases)); });
    attempt([&] { (void)pool.try_acquire_n(std::span(leases).first(7)); });
  }
}

template <class Pool>
void one_life(std::size_t capacity) {
  std::unique_ptr<Pool> pool;
  attempt([&] {
    object_pool_options options{
        .capacity = capacity,
        .name = "a name too long for the small string optimisation",
        .creation = std::same_as<Pool, kept_pool> ? creation::eager : creation::lazy};
    if (has_segments<Pool>) {
      options.max_capacity = capacity;
      options.capacity = 0;
    }
    pool = std::make_unique<Pool>(options);
  });
  if (pool == nullptr) {
    return;
  }
  {
    const neighbour<Pool> first(*pool);
    const neighbour<Pool> second(*pool);
    use(*pool);
  }
  // From here on nothing fails, and no other thread has a cache.
  plan().armed = false;
  failing_allocations::stop();
  require(count_acquirable(*pool) == capacity, "slots are lost");
  require(pool->stats().in_use == 0, "slots are counted as in use");
  const bool unfenced = plan().what == fault::fence_registration && plan().injected > 0;
  require(!unfenced || pool->stats().heavy_fences == 0, "a fence was used that is not there");
}

/// Runs in a separate process. Returns its exit status.
template <class Pool>
int run_with(fault what, long first, bool sticky) {
  plan().what = what;
  plan().first = first;
  plan().sticky = sticky;
  const std::size_t capacity = what == fault::allocation ? 600 : 40;
  bool still_pending = false;
  long before = 0;
  {
    before = allocation_plan::outstanding;
    plan().armed = true;
    const failing_allocations memory(what == fault::allocation ? first : 0, sticky);
    one_life<Pool>(capacity);
    still_pending = failing_allocations::pending();
    plan().armed = false;
  }
  one_life<Pool>(capacity);  // and again, in the same process, without faults
  require(allocation_plan::outstanding == before, "memory is left");
  require(fragile::live == 0, "objects are left");
  const bool happened =
      what == fault::allocation ? !still_pending && allocations().refused > 0 : plan().injected > 0;
  return happened ? all_well : nothing_failed;
}

struct tally {
  unsigned points = 0;
  unsigned runs = 0;
};

template <class Pool>
void sweep(fault what, bool sticky, tally& sum) {
  for (long first = 1;; ++first) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::exit(run_with<Pool>(what, first, sticky));  // NOLINT(concurrency-mt-unsafe): one thread
    }
    int status = 0;
    (void)::waitpid(child, &status, 0);
    ++sum.runs;
    if (WIFEXITED(status) && WEXITSTATUS(status) == nothing_failed) {
      return;
    }
    require(status == 0, fmt::format("the run of {}, {}{}, ended with status {}", name_of(what),
                                     first, sticky ? " and later" : "", status));
    ++sum.points;
  }
}

/// Returns why a fault cannot happen to a pool; null: it must, or the sweep has lost its wrapper.
const char* why_never(fault what, std::string_view pool) {
  if ((what == fault::fence || what == fault::fence_registration) &&
      (pool == "locked" || pool == "none")) {
    return "only caches that owners use without read-modify-writes need the fence";
  }
  if (what == fault::hook && !pool.ends_with("kept")) {
    return "only a pool that keeps its objects calls hooks";
  }
  return nullptr;
}

template <class Pool>
void sweep_all(std::string_view pool) {
  for (int number = 1; number < static_cast<int>(fault::last); ++number) {
    const auto what = static_cast<fault>(number);
    tally sum;
    for (const bool sticky : {false, true}) {
      sweep<Pool>(what, sticky, sum);
    }
    const char* const reason = why_never(what, pool);
    fmt::print("report: fault_sweep pool={} fault={} points={} runs={}\n", pool, name_of(what),
               sum.points, sum.runs);
    if (reason != nullptr) {
      fmt::print("none of {}: {}\n", name_of(what), reason);
    }
    (void)std::fflush(stdout);
    plan().what = what;  // for the text
    require((sum.points > 0) == (reason == nullptr),
            reason == nullptr ? fmt::format("nothing could fail in the pool '{}'", pool)
                              : fmt::format("this should not concern the pool '{}'", pool));
  }
}

}  // namespace
}  // namespace lido::test

int main() {
  using namespace lido;
  using test::fragile;
  test::sweep_all<object_pool<fragile>>("revocable");
  test::sweep_all<test::preset_pool<fragile, pool_traits<fragile>, test::locked_caches>>("locked");
  test::sweep_all<test::preset_pool<fragile, test::tracking_traits, test::no_caches>>("none");
  test::sweep_all<test::kept_pool>("kept");
  test::sweep_all<test::waiting_pool>("block");
  test::sweep_all<test::growing_pool>("grow");
  test::sweep_all<test::growing_kept_pool>("grow_kept");
  test::sweep_all<test::checked_pool>("checked");
  return EXIT_SUCCESS;
}
