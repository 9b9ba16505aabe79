/// Keys that share one limit, as they are, without the table that finds them: whoever waits for
/// room gets it, and there are never more resources than the limit allows.
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "checker/plain.hpp"
#include "lido/resource/key_share.hpp"
#include "lido/resource/typed_hooks.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

using lido::detail::key_share;
using lido::detail::resource_grant;

struct session {
  plain<int> uses{0};
};

struct still_clock : lido::time_source {
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override {
    return std::chrono::nanoseconds(1);
  }
};
const still_clock no_clock;

/// What is due later is due at the second look. The model runs one thread at a time.
struct hasty_clock : lido::time_source {
  [[nodiscard]] std::chrono::nanoseconds now() const noexcept override {
    return std::chrono::hours(++looks);
  }
  mutable int looks = 0;
};
constexpr auto some_time = std::chrono::seconds(1);  // over whenever the model wants

/// The model runs one thread at a time.
struct census {
  int alive = 0;
  int limit = 0;
  std::uint32_t together = 0;         ///< a create ends when so many have begun
  std::function<void()> in_create;    ///< what the next one does, too
  std::function<void()> in_validate;  ///< which says no then
  std::function<void()> in_destroy;
  lido::detail::atomic<std::uint32_t> begun{0};

  static void run_once(std::function<void()>& work) {
    if (const auto todo = std::exchange(work, nullptr)) {
      todo();
    }
  }
  void begin() noexcept {
    (void)begun.fetch_add(1, std::memory_order_acq_rel);
    lido::detail::unpark(&begun);
  }
  void await(std::uint32_t number) noexcept {
    for (auto seen = begun.load(std::memory_order_acquire); seen < number;
         seen = begun.load(std::memory_order_acquire)) {
      (void)lido::detail::park(begun, seen, {});
    }
  }
};

struct dialer {
  census* count;
  [[nodiscard]] session create() const {
    require(++count->alive <= count->limit, "more resources than the limit of all keys");
    if (count->together != 0) {
      count->begin();
      count->await(count->together);
    }
    census::run_once(count->in_create);
    return {};
  }
  [[nodiscard]] bool validate(session& /*idle*/) const {
    const bool is_unfit = count->in_validate != nullptr;
    census::run_once(count->in_validate);
    return !is_unfit;
  }
  void destroy(session& /*ended*/, lido::destroy_reason /*why*/) const noexcept {
    census::run_once(count->in_destroy);
    --count->alive;
  }
};

struct ways {
  const lido::time_source* clock = &no_clock;
  std::chrono::nanoseconds validate_after = std::chrono::hours(1);
};

/// Two keys.
class keys {
 public:
  keys(std::uint32_t max_total, std::uint32_t max_each, const ways& with)
      : ways_(with), total_(max_total, max_each, 0) {
    census_.limit = static_cast<int>(max_total);
    for (key_share*& share : shares_) {
      share = &total_.add(std::make_unique<key_share>(make_core(max_each)));
    }
  }
  keys(const keys&) = delete;
  keys& operator=(const keys&) = delete;
  ~keys() {
    for (key_share* const share : shares_) {
      (void)share->core().close(lido::detail::deadline::after(std::chrono::nanoseconds(0)));
      share->core().let_go();
    }
  }

  [[nodiscard]] resource_grant wait_for(std::size_t key) {
    const resource_grant last = begin(*shares_.at(key));
    return last.slot != nullptr ? last : go_on(key);
  }
  /// The two halves of that, where nothing is idle.
  void begin_wait(std::size_t key) {
    require(begin(*shares_.at(key)).slot == nullptr, "there was one");
  }
  [[nodiscard]] resource_grant go_on(std::size_t key) { return total_.take(*shares_.at(key), {}); }
  void give_back(std::size_t key, const resource_grant& grant) {
    use(grant);
    total_.give_back(*shares_.at(key), grant);
  }
  void wait_and_use(std::size_t key) { give_back(key, wait_for(key)); }
  /// Waits for a time that may be over at any moment.
  void wait_for_a_time(std::size_t key) {
    key_share& share = *shares_.at(key);
    resource_grant grant = begin(share);
    try {
      if (grant.slot == nullptr) {
        grant = total_.take(share, {lido::detail::deadline::after(some_time), {}, {}});
      }
    } catch (const lido::acquire_error&) {
      total_.leave(share);
      return;
    }
    give_back(key, grant);
  }
  void try_and_use(std::size_t key) {
    key_share& share = *shares_.at(key);
    resource_grant grant = begin(share);
    if (grant.slot == nullptr) {
      grant = total_.take_now(share, {});
    }
    if (grant.slot != nullptr) {
      give_back(key, grant);
    } else {
      total_.leave(share);
    }
  }
  /// What a tick does to a key.
  void trim(std::size_t key) {
    total_.look_at(*shares_.at(key));
    total_.trim(*shares_.at(key));
    total_.end_look(*shares_.at(key));
  }
  void look_after(std::size_t key) noexcept { shares_.at(key)->core().tick(); }

  /// From now on a create ends when so many have begun.
  void make_together(std::uint32_t creates) noexcept {
    census_.begun.store(0, std::memory_order_relaxed);
    census_.together = creates;
  }

  [[nodiscard]] census& hooks() noexcept { return census_; }

  /// After all threads: nobody waits, and either key can have all there is.
  void check() {
    require(total_.count().waiting == 0, "somebody is still in the queue");
    in_threads([&] {
      wait_and_use(0);
      wait_and_use(1);
    });
  }

 private:
  resource_grant begin(key_share& share) {
    share.claim();
    return total_.take_last(share, {});
  }
  static void use(const resource_grant& grant) {
    auto& slot = static_cast<lido::detail::typed_slot<session>&>(*grant.slot);
    slot.value().uses.write(slot.value().uses.read() + 1);
  }
  std::shared_ptr<lido::detail::resource_core> make_core(std::size_t max_size) {
    const lido::detail::pool_settings settings(
        lido::resource_pool_options{.max_size = max_size,
                                    .idle_timeout = std::chrono::nanoseconds(0),
                                    .max_lifetime = std::chrono::nanoseconds(0),
                                    .keepalive = std::chrono::nanoseconds(0),
                                    .validate_if_idle_longer_than = ways_.validate_after,
                                    .max_creating = max_size,
                                    .detect_hold_and_wait = false,
                                    .upkeep = lido::maintenance::by_callers,
                                    .clock = ways_.clock});
    return std::make_shared<lido::detail::resource_core>(
        settings, std::make_shared<lido::detail::typed_hooks<session, dialer>>(dialer{&census_}),
        &lido::detail::typed_block<session>::make);
  }

  const ways ways_;
  census census_;
  lido::detail::total_share total_;
  std::array<key_share*, 2> shares_{};
};

/// Runs `scene(keys)`. What has failed is left as it is.
template <class Scene>
void with_keys(std::uint32_t max_total, std::uint32_t max_each, const Scene& scene,
               const ways& with = {}) {
  auto all = std::make_unique<keys>(max_total, max_each, with);
  keys* const kept = all.release();
  scene(*kept);
  all.reset(kept);
}

// Who waits for room looks at who uses what, while that use ends.
void wait_against_release() {
  with_keys(1, 1, [](keys& all) {
    const resource_grant held = all.wait_for(0);
    in_threads([&] { all.give_back(0, held); }, [&] { all.wait_and_use(1); });
    all.check();
  });
}

void wait_against_use() {
  with_keys(1, 1, [](keys& all) {
    all.wait_and_use(0);
    in_threads([&] { all.try_and_use(0); }, [&] { all.wait_and_use(1); });
    all.check();
  });
}

void wait_for_one_another() {
  with_keys(1, 1, [](keys& all) {
    in_threads([&] { all.wait_and_use(0); }, [&] { all.wait_and_use(1); });
    all.check();
  });
}

// What nobody uses is taken back by a tick meanwhile.
void wait_against_trim() {
  with_keys(1, 1, [](keys& all) {
    all.wait_and_use(0);
    in_threads([&] { all.trim(0); }, [&] { all.wait_and_use(1); });
    all.check();
  });
}

// Who was to make the resource gives up, and another key needs the room.
void late_against_wait() {
  with_keys(1, 1, [](keys& all) {
    const resource_grant held = all.wait_for(1);
    in_threads([&] { all.wait_for_a_time(0); },
               [&] {
                 all.give_back(1, held);
                 all.wait_and_use(1);
               });
    all.check();
  });
}

// Both keep what they get, and what the first is granted the second may take. What they do when
// they have got it comes too late: neither gets anything before the other has room, too.
void two_of_one_key() {
  with_keys(2, 2, [](keys& all) {
    all.wait_and_use(0);
    all.look_after(0);  // or one of them would be busy with the first upkeep of the key
    for (const resource_grant& grant : {all.wait_for(1), all.wait_for(1)}) {
      all.give_back(1, grant);
    }
    all.make_together(2);
    std::array<resource_grant, 2> held;
    all.begin_wait(0);
    in_threads([&] { held[0] = all.go_on(0); }, [&] { held[1] = all.wait_for(0); });
    all.make_together(0);
    for (const resource_grant& grant : held) {
      all.give_back(0, grant);
    }
    all.check();
  });
}

// Who makes one finds what came back meanwhile, and keeps that: what it has made is too much then,
// and another, of the other key, keeps what the room is for.
void served_beside_its_create() {
  with_keys(2, 2, [](keys& all) {
    const resource_grant first = all.wait_for(0);
    census& hooks = all.hooks();
    hooks.in_create = [&] {
      all.give_back(0, first);
      hooks.await(1);
    };
    // Takes its time, so that others may look for room before there is any.
    hooks.in_destroy = [&] {
      (void)lido::detail::park(hooks.begun, 1, lido::detail::deadline::after(some_time));
    };
    resource_grant served;
    resource_grant last;
    in_threads([&] { served = all.wait_for(0); },
               [&] {
                 hooks.begin();
                 last = all.wait_for(1);
               });
    all.give_back(0, served);
    all.give_back(1, last);
    all.check();
  });
}

// A resource goes to who waits for it, or to another key's longer wait; then that of the first has
// lost its room, and needs it back.
void older_of_another_first() {
  with_keys(1, 1, [](keys& all) {
    const resource_grant held = all.wait_for(0);
    in_threads([&] { all.wait_and_use(0); }, [&] { all.wait_and_use(1); },
               [&] { all.give_back(0, held); });
    all.check();
  });
}

// A create fails; the next one, which is due when the model wants, has room again.
void room_for_the_next_try() {
  const hasty_clock clock;
  const auto scene = [](keys& all) {
    all.hooks().in_create = [&] {
      --all.hooks().alive;
      throw std::runtime_error("no");
    };
    in_threads([&] { all.wait_and_use(0); }, [&] { all.wait_and_use(1); });
    all.check();
  };
  with_keys(1, 1, scene, {.clock = &clock});
}

// What comes back is taken by one of the same key, who finds it unfit and waits on, though room was
// to be made of it for another key.
void unfit_beside_older() {
  const auto scene = [](keys& all) {
    const resource_grant held = all.wait_for(0);
    census& hooks = all.hooks();
    hooks.in_validate = [&] { hooks.await(1); };
    in_threads([&] { all.wait_and_use(1); }, [&] { all.wait_and_use(0); },
               [&] {
                 all.give_back(0, held);
                 hooks.begin();
               });
    hooks.in_validate = nullptr;
    all.check();
  };
  with_keys(1, 1, scene, {.validate_after = std::chrono::nanoseconds(0)});
}

constexpr bounds narrow{.preemptions = 2, .reorderings = 1, .failures = 0};

constexpr scenario shares(std::string_view name, std::string_view tells, void (*run)()) {
  return {name, tells, run, /*must_fail=*/false, narrow, /*waits=*/true};
}

constexpr std::array scenarios{
    shares("keys.wait_against_release", "room for one key as another's lease ends",
           &wait_against_release),
    shares("keys.wait_against_use", "room for one key beside a use of another", &wait_against_use),
    shares("keys.wait_for_one_another", "two keys want the same room", &wait_for_one_another),
    shares("keys.wait_against_trim", "room that is taken back from a key without users",
           &wait_against_trim),
    shares("keys.late_against_wait", "who was given room gives up before the use of it",
           &late_against_wait),
    shares("keys.two_of_one_key", "one takes the room that was granted for another of its key",
           &two_of_one_key),
    shares("keys.served_beside_its_create", "room for one key as another's create comes too late",
           &served_beside_its_create),
    shares("keys.older_of_another_first", "a key loses its room to one that has waited for longer",
           &older_of_another_first),
    shares("keys.unfit_beside_older", "one is found unfit that another key's room was to come from",
           &unfit_beside_older),
    shares("keys.room_for_the_next_try", "creates of one key fail beside another",
           &room_for_the_next_try),
};

}  // namespace

std::span<const scenario> key_scenarios() {
  return scenarios;
}

}  // namespace model
