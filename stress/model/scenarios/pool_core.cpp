/// Pools of resources on the kernel of events: each waiter is served or refused, no resource is
/// lost, and none has two users.
#include <array>
#include <optional>
#include <utility>

#include "lido/keyed_resource_pool.hpp"
#include "scenarios/lent_tools.hpp"

namespace model {

namespace {

using lease = tool_pool::lease;

// A thread that begins to wait marks a resource while another thread releases it.
void wait_against_release() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// The other thread takes it first, without the mutex.
void wait_against_use() {
  with_tools(1, [](tool_pool& pool) {
    in_threads([&] { pool.try_and_use(); }, [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// The second waiter does not look for resources: the first one did.
void two_wait() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { pool.wait_and_use(); },
               [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

void first_come_first_served() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    int served = 0;
    const auto wait_as = [&](int turn) {
      lease got = pool.pool().acquire();
      require(served == turn, "a waiter was overtaken by one that came later");
      ++served;
      tool_pool::use(std::move(got));
    };
    in_threads([&] { wait_as(0); },
               [&] {
                 pool.rest_until_there_are(1);
                 wait_as(1);
               },
               [&] {
                 pool.rest_until_there_are(2);
                 tool_pool::use(std::move(held));
               });
    pool.check(1);
  });
}

// One waiter is assigned to create the resource, and the other one gets it afterwards.
void two_wait_for_a_create() {
  with_tools(tool_options(1), 0, [](tool_pool& pool) {
    in_threads([&] { pool.wait_and_use(); }, [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// The thread that is to create may be late, and then another one is assigned.
void late_beside_a_create() {
  with_tools(tool_options(1), 0, [](tool_pool& pool) {
    in_threads([&] { pool.wait_for_a_time(); }, [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// A waiter is assigned to validate the resource, which fails; it creates another one.
void unfit_beside_a_wait() {
  lido::resource_pool_options options = tool_options(1);
  options.validate_if_idle_longer_than = at_once;
  with_tools(options, 1, [](tool_pool& pool) {
    pool.count().refusals = 1;
    in_threads([&] { pool.wait_and_use(); }, [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// Threads look for the lowest idle resource while others put theirs back.
void lowest_beside_releases() {
  with_tools(2, [](tool_pool& pool) {
    lease low = pool.take();
    lease high = pool.take();
    in_threads([&] { tool_pool::use(std::move(low)); }, [&] { tool_pool::use(std::move(high)); },
               [&] { pool.try_and_use(); });
    pool.check(2);
  });
}

void three_for_two() {
  with_tools(2, [](tool_pool& pool) {
    in_threads([&] { pool.wait_and_use(); }, [&] { pool.wait_and_use(); },
               [&] { pool.wait_and_use(); });
    pool.check(2);
  });
}

// A waiter times out as it is given the resource. One behind it must get it then.
void late_waiter() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { pool.wait_for_a_time(); });
    pool.check(1);
  });
}

void late_before_patient() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { pool.wait_for_a_time(); },
               [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// A resource that becomes idle while the pool is suspended goes to the waiter when it is resumed.
void resume_against_release() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    pool.pool().suspend();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { pool.pool().resume(); },
               [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// The pool is resumed where the waiter may time out as it is given the resource.
void resume_beside_late() {
  with_tools(1, [](tool_pool& pool) {
    pool.pool().suspend();
    in_threads([&] { pool.wait_for_a_time(); }, [&] { pool.pool().resume(); });
    pool.check(1);
  });
}

// The kernel marks a killed resource, or destroys it, while it is released.
void kill_against_release() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    const lido::resource_handle handle = held.handle();
    in_threads([&] { tool_pool::use(std::move(held)); },
               [&] { require(pool.pool().kill(handle), "a resource was not found"); });
    require(pool.count().destroyed == 1, "a resource was killed, and lives");
    pool.check(0);
  });
}

void kill_against_use() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    const lido::resource_handle handle = held.handle();
    held.reset();
    in_threads([&] { pool.try_and_use(); },
               [&] {
                 require(pool.pool().kill(handle), "a resource was not found");
                 pool.wait_and_use();
               });
    require(pool.count().destroyed == 1, "a resource was killed, and lives");
    pool.check(1);
  });
}

// A resource older than the flush is no longer lent to a thread that knows of the flush.
void flush_against_release() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); },
               [&] {
                 pool.pool().flush();
                 pool.wait_and_use();
               });
    require(pool.count().destroyed == 1, "a resource was lent after a flush");
    pool.check(1);
  });
}

/// A tool may neither end nor leave the pool while its use is interrupted.
struct interrupting_toolmaker : toolmaker {
  struct visits {
    lido::detail::atomic<int> now{0};
    int all = 0;
  };
  visits* seen;

  void interrupt(tool& /*used*/) const noexcept {
    ++seen->all;
    seen->now.fetch_add(1, std::memory_order_relaxed);
    seen->now.fetch_sub(1, std::memory_order_relaxed);
  }
  void destroy(tool& ended, lido::destroy_reason why) const noexcept {
    is_left_alone("a resource is destroyed while it is interrupted");
    toolmaker::destroy(ended, why);
  }
  void is_left_alone(const char* otherwise) const noexcept {
    require(seen->now.load(std::memory_order_relaxed) == 0, otherwise);
  }
};

/// `act(pool, handle)` beside `end(lease, maker)`.
template <class Act, class End>
void interrupt_beside(const Act& act, const End& end) {
  auto* const count = new tool_count;  // left as they are where the scenario fails
  auto* const seen = new interrupting_toolmaker::visits;
  const interrupting_toolmaker maker{{count}, seen};
  auto* const pool = new lido::resource_pool<tool>(maker, tool_options(1));
  lease held = pool->try_acquire();
  const lido::resource_handle handle = held.handle();
  in_threads([&] { end(held, maker); }, [&] { act(*pool, handle); });
  require(pool->stats().live == 0, "a resource was ended, and lives");
  require(count->destroyed + static_cast<int>(pool->stats().detached) == 1,
          "a resource was not destroyed, or twice");
  require(seen->all <= 1, "a use was interrupted twice");
  delete pool;
  delete seen;
  delete count;
}

void kill_and_interrupt(lido::resource_pool<tool>& pool, lido::resource_handle handle) {
  (void)pool.kill(handle, lido::ongoing_uses::interrupt);
}
void flush_and_interrupt(lido::resource_pool<tool>& pool, lido::resource_handle /*handle*/) {
  pool.flush(lido::ongoing_uses::interrupt);
}

// A use ends beside the hook that interrupts it. What the flush finds in use does not become idle.
void interrupt_against_release() {
  interrupt_beside(&flush_and_interrupt,
                   [](lease& held, const interrupting_toolmaker&) { held.reset(); });
}

void interrupt_against_discard() {
  interrupt_beside(&kill_and_interrupt,
                   [](lease& held, const interrupting_toolmaker&) { held.discard(); });
}

// A flush finds a resource that its user is about to move out.
void interrupt_against_detach() {
  interrupt_beside(&flush_and_interrupt, [](lease& held, const interrupting_toolmaker& maker) {
    (void)held.detach();
    maker.is_left_alone("a resource is moved out while its use is interrupted");
  });
}

// A thread that found the resource fresh takes it as the flush looks at it.
void interrupt_beside_take() {
  auto* const count = new tool_count;
  auto* const seen = new interrupting_toolmaker::visits;
  const interrupting_toolmaker maker{{count}, seen};
  auto* const pool = new lido::resource_pool<tool>(maker, tool_options(1));
  { lease first = pool->try_acquire(); }
  lease held;
  in_threads([&] { held = pool->try_acquire_idle(); },
             [&] { pool->flush(lido::ongoing_uses::interrupt); });
  require(!held || seen->all == 1, "the use of a flushed resource is not interrupted");
  held.reset();
  delete pool;
  delete seen;
  delete count;
}

// Two users of one generation fail: one of them flushes.
void flush_of_two_leases() {
  with_tools(2, [](tool_pool& pool) {
    lease one = pool.take();
    lease other = pool.take();
    int flushes = 0;
    const auto fail = [&](lease failed) {
      flushes += pool.pool().flush(failed) ? 1 : 0;
      failed.reset();
      pool.wait_and_use();
    };
    in_threads([&] { fail(std::move(one)); }, [&] { fail(std::move(other)); });
    require(flushes == 1, "a generation was flushed twice, or not at all");
    require(pool.count().destroyed == 2, "a new resource was flushed, or an old one was not");
    pool.check(pool.pool().stats().idle);
  });
}

// A resource leaves the pool and is adopted again beside a thread that waits for it.
void adopt_against_wait() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads(
        [&] {
          tool out = held.detach();
          if (!pool.pool().adopt(std::move(out))) {
            pool.count().created -= 1;  // the waiter has made another one
          }
        },
        [&] { pool.wait_and_use(); });
    pool.check(1);
  });
}

// A pool is closed as it adopts a resource: it refuses it, or destroys it.
void adopt_against_close() {
  with_tools(1, [](tool_pool& pool) {
    tool out = pool.take().detach();
    bool is_taken = false;
    in_threads([&] { is_taken = pool.pool().adopt(std::move(out)); },
               [&] { (void)pool.pool().close(at_once); });
    require(pool.count().destroyed == (is_taken ? 1 : 0), "a closed pool keeps a resource");
    pool.count().created -= is_taken ? 0 : 1;
  });
}

// A pool becomes too small for a released resource: one of the two threads destroys it.
void resize_against_release() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { pool.pool().resize(0); });
    pool.check(0);
  });
}

// A pool grows while others examine all leases, or kill a resource by its number.
void resize_beside_leases() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads(
        [&] {
          pool.pool().resize(2);
          pool.wait_and_use();
        },
        [&] { require(!pool.pool().leases().empty(), "a lease was not seen"); },
        [&] { (void)pool.pool().kill({.index = 1, .birth = 1}); });
    tool_pool::use(std::move(held));
    pool.pool().resize(0);
    pool.check(0);
  });
}

// A pool is closed as its only resource is released; the close waits until it is destroyed.
void close_against_release() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    const auto close = [&] {
      require(pool.pool().close(ever).complete(), "closed, and something is left");
      require(pool.count().destroyed == 1, "closed before its last resource has ended");
    };
    in_threads([&] { tool_pool::use(std::move(held)); }, close, close);
    pool.check(0);
  });
}

void close_against_use() {
  with_tools(1, [](tool_pool& pool) {
    in_threads(
        [&] { pool.try_and_use(); },
        [&] { require(pool.pool().close(ever).complete(), "closed, and something is left"); });
    require(!pool.pool().try_acquire(), "a closed pool lends something");
    pool.check(0);
  });
}

// A waiter is refused by the close, or gets the resource before.
void close_against_waiter() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { pool.wait_for_a_time(); },
               [&] { (void)pool.pool().close(ever); });
    pool.check(0);
  });
}

// The pool is destroyed while its last lease ends. The thread of the lease may have a number or
// not.
void pool_ends_beside_release() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { pool.end_pool(); });
    require(pool.count().destroyed == 1, "a resource outlives its pool and its lease");
  });
}

void pool_ends_beside_owner() {
  with_tools(1, [](tool_pool& pool) {
    lido::detail::atomic<bool> there(false);
    in_threads(
        [&] {
          lease held = pool.pool().acquire();
          there.store(true, std::memory_order_release);
          tool_pool::use(std::move(held));
        },
        [&] {
          while (!there.load(std::memory_order_acquire)) {
            execution::now().rest();
          }
          pool.end_pool();
        });
    require(pool.count().destroyed == 1, "a resource outlives its pool and its lease");
  });
}

/// A factory that is destroyed with the last part of its pool.
struct counted_toolmaker : toolmaker {
  std::shared_ptr<int> alive;
};

// A create is due to a tick, and the pool ends before it is posted.
void pool_ends_beside_a_create() {
  lido::resource_pool_options options = tool_options(1);
  options.close_timeout = at_once;
  auto* const count = new tool_count;  // leaked where the scenario fails, as the next
  const auto alive = std::make_shared<int>();
  auto* const pool = new lido::resource_pool<tool>(counted_toolmaker{{count}, alive}, options);
  lease held = pool->try_acquire();
  int calls = 0;
  pool->async_acquire([&calls](const auto& /*got*/) { ++calls; }, ever);
  in_threads([&] { held.discard(); }, [&] { delete pool; });
  require(calls == 1, "a callback is not called, or twice");
  require(count->created == count->destroyed, "a resource outlives its pool and its lease");
  require(alive.use_count() == 1, "a create that was due keeps the core of its pool");
  delete count;
}

// A close runs out of time beside a destroy: it reports that the resource has not ended.
void close_beside_a_destroy() {
  auto* const count = new tool_count;  // leaked where the scenario fails, as the next
  auto* const pool = new lido::resource_pool<tool>(toolmaker{count}, tool_options(1));
  lease held = pool->try_acquire();
  in_threads([&] { held.discard(); },
             [&] {
               const bool is_complete = pool->close(at_once).complete();
               require(!is_complete || count->destroyed == 1,
                       "a close is complete before the last resource has ended");
             });
  delete pool;
  require(count->destroyed == 1, "a resource outlives its pool and its lease");
  delete count;
}

// ---- pools with keys ----------------------------------------------------------------------------

struct toolmaker_of_keys {
  tool_count* count;
  [[nodiscard]] tool create(int /*key*/) const { return toolmaker{count}.create(); }
  void destroy(tool& ended, lido::destroy_reason why) const noexcept {
    toolmaker{count}.destroy(ended, why);
  }
};

struct keyed_tools {
  using pool_type = lido::keyed_resource_pool<int, tool>;

  keyed_tools() {
    lido::keyed_resource_pool_options options;
    options.max_total = 1;
    options.each_key = tool_options(1);
    pool.emplace(toolmaker_of_keys{&count}, options);
  }
  void wait_and_use(int key) { tool_pool::use(pool->at(key).acquire()); }
  void check() {
    require(pool->stats().waiting == 0, "a waiter is still in the queue");
    require(pool->stats().in_use == 0, "a resource is lost");
    require(count.created - count.destroyed == static_cast<int>(pool->stats().live),
            "a resource was not destroyed, or twice");
    in_threads([&] { wait_and_use(0); });
  }

  tool_count count;
  std::optional<pool_type> pool;
};

template <class Scene>
void with_keyed_tools(const Scene& scene) {
  auto all = std::make_unique<keyed_tools>();
  keyed_tools* const kept = all.release();
  scene(*kept);
  all.reset(kept);
}

// A tick forgets a key that has nothing while the thread that had its last resource leaves.
void key_goes_beside_release() {
  with_keyed_tools([](keyed_tools& all) {
    lease held = all.pool->at(0).acquire();
    in_threads([&] { tool_pool::use(std::move(held)); },
               [&] {
                 all.pool->at(0).flush();
                 all.pool->tick();
               });
    all.check();
  });
}

void key_goes_beside_owner() {
  with_keyed_tools([](keyed_tools& all) {
    in_threads([&] { all.wait_and_use(0); },
               [&] {
                 all.pool->at(0).flush();
                 all.pool->tick();
               });
    all.check();
  });
}

// The key is forgotten without a tick, twice.
void key_forgotten_beside_release() {
  with_keyed_tools([](keyed_tools& all) {
    lease held = all.pool->at(0).acquire();
    in_threads([&] { tool_pool::use(std::move(held)); },
               [&] {
                 require(all.pool->forget(0), "a key was forgotten while its resource was in use");
                 (void)all.pool->forget(0);
               });
    all.check();
  });
}

// A thread that wants only an idle resource, beside a release and a use.
void idle_against_release() {
  with_tools(1, [](tool_pool& pool) {
    lease held = pool.take();
    in_threads([&] { tool_pool::use(std::move(held)); },
               [&] {
                 lease got = pool.pool().try_acquire_idle();
                 if (got) {
                   tool_pool::use(std::move(got));
                 }
               },
               [&] { pool.try_and_use(); });
    pool.check(1);
  });
}

// A key needs the capacity taken by a resource that is released, or used again.
void quota_against_release() {
  with_keyed_tools([](keyed_tools& all) {
    lease held = all.pool->at(0).acquire();
    in_threads([&] { tool_pool::use(std::move(held)); }, [&] { all.wait_and_use(1); });
    all.check();
  });
}

void quota_for_one_another() {
  with_keyed_tools([](keyed_tools& all) {
    all.wait_and_use(0);
    in_threads([&] { all.wait_and_use(0); }, [&] { all.wait_and_use(1); });
    all.check();
  });
}

constexpr scenario lends(std::string_view name, std::string_view tells, void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, narrow_unfailing, /*waits=*/true};
}

constexpr std::array pool_core_list{
    lends("pool_core.wait_against_release", "a thread begins to wait beside a release",
          &wait_against_release),
    lends("pool_core.wait_against_use", "a thread begins to wait beside a use", &wait_against_use),
    lends("pool_core.two_wait", "two waiters and one release", &two_wait),
    lends("pool_core.first_come_first_served", "the order of the queue", &first_come_first_served),
    lends("pool_core.two_wait_for_a_create", "one waiter creates", &two_wait_for_a_create),
    lends("pool_core.late_beside_a_create", "the creator may be late", &late_beside_a_create),
    lends("pool_core.unfit_beside_a_wait", "a waiter validates, in vain", &unfit_beside_a_wait),
    lends("pool_core.idle_against_release", "only what is idle, beside a release",
          &idle_against_release),
    lends("pool_core.lowest_beside_releases", "a search beside two releases",
          &lowest_beside_releases),
    lends("pool_core.three_for_two", "three threads, two resources", &three_for_two),
    lends("pool_core.late_waiter", "a time that is over as its waiter is served", &late_waiter),
    lends("pool_core.late_before_patient", "the same before another waiter", &late_before_patient),
    lends("pool_core.resume_against_release", "resumed as a resource comes back",
          &resume_against_release),
    lends("pool_core.resume_beside_late", "resumed as the time of a waiter is over",
          &resume_beside_late),
    lends("pool_core.kill_against_release", "killed as it comes back", &kill_against_release),
    lends("pool_core.kill_against_use", "killed as it is taken", &kill_against_use),
    lends("pool_core.flush_against_release", "flushed as it comes back", &flush_against_release),
    lends("pool_core.interrupt_against_release", "interrupted as it comes back",
          &interrupt_against_release),
    lends("pool_core.interrupt_against_discard", "interrupted as it is discarded",
          &interrupt_against_discard),
    lends("pool_core.interrupt_against_detach", "interrupted as it is moved out",
          &interrupt_against_detach),
    lends("pool_core.interrupt_beside_take", "taken as it is flushed", &interrupt_beside_take),
    lends("pool_core.flush_of_two_leases", "two users flush one generation", &flush_of_two_leases),
    lends("pool_core.adopt_against_wait", "detached and adopted beside a waiter",
          &adopt_against_wait),
    lends("pool_core.adopt_against_close", "adopted beside a close", &adopt_against_close),
    lends("pool_core.resize_against_release", "smaller as a resource comes back",
          &resize_against_release),
    lends("pool_core.resize_beside_leases", "larger beside a look at all leases",
          &resize_beside_leases),
    lends("pool_core.close_against_release", "closed twice as a resource comes back",
          &close_against_release),
    lends("pool_core.close_against_use", "closed beside a use", &close_against_use),
    lends("pool_core.close_against_waiter", "closed beside a waiter and a release",
          &close_against_waiter),
    lends("pool_core.pool_ends_beside_release", "a pool ends beside a thread without a number",
          &pool_ends_beside_release),
    lends("pool_core.pool_ends_beside_owner", "a pool ends beside a thread with a number",
          &pool_ends_beside_owner),
    lends("pool_core.pool_ends_beside_a_create", "a create is due as a pool ends",
          &pool_ends_beside_a_create),
    lends("pool_core.close_beside_a_destroy", "a destroy is due as the time of a close is up",
          &close_beside_a_destroy),
    lends("pool_core.key_goes_beside_release", "a key is forgotten beside a thread that leaves",
          &key_goes_beside_release),
    lends("pool_core.key_forgotten_beside_release", "forgotten by name beside a thread that leaves",
          &key_forgotten_beside_release),
    lends("pool_core.key_goes_beside_owner", "the same beside a thread with a number",
          &key_goes_beside_owner),
    lends("pool_core.quota_against_release", "quota for a key as another's resource is released",
          &quota_against_release),
    lends("pool_core.quota_for_one_another", "two keys want the same quota",
          &quota_for_one_another),
};

}  // namespace

std::span<const scenario> pool_core_scenarios() {
  return pool_core_list;
}

}  // namespace model
