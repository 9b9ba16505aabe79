#include "scenarios/asked_pool.hpp"

namespace model {

using lido::detail::deadline;
using lido::detail::resource_core;

namespace {

// What the threads of a pool do is private to it. An explicit instantiation may name what is
// private, so the library needs no door for the model.
void work_in(resource_core& core);
void do_all_in(resource_core& core);
void wake_threads_of(resource_core& core);

template <auto Work, auto DoAll, auto Wake>
struct door {
  friend void work_in(resource_core& core) { (core.*Work)(); }
  friend void do_all_in(resource_core& core) { (core.*DoAll)(); }
  friend void wake_threads_of(resource_core& core) { (core.*Wake)(); }
};
template struct door<&resource_core::work, &resource_core::run_jobs_here,
                     &resource_core::wake_workers>;

resource& resource_of(const asked_pool::grant& got) {
  return static_cast<lido::detail::typed_slot<resource>*>(got.slot)->value();
}

}  // namespace

asked_pool::asked_pool(std::size_t size, std::size_t made, std::size_t max_waiters) {
  execution::now().keep_for_each_thread(lido::detail::ended_waiters::delivering);
  about_.most = static_cast<int>(size);
  core_ = std::make_shared<resource_core>(
      lido::detail::pool_settings({.max_size = size,
                                   .max_waiters = max_waiters,
                                   .idle_timeout = std::chrono::nanoseconds(0),
                                   .max_lifetime = std::chrono::nanoseconds(0),
                                   .keepalive = std::chrono::nanoseconds(0),
                                   .validate_if_idle_longer_than = std::chrono::nanoseconds(0),
                                   .max_creating = 1,
                                   .upkeep = lido::maintenance::background,
                                   .clock = &clock_of_all}),
      std::make_shared<lido::detail::typed_hooks<resource, asked_factory>>(asked_factory{&about_}),
      &lido::detail::typed_block<resource>::make);
  std::array<grant, 4> all;
  for (std::size_t i = 0; i < made; ++i) {
    (void)core_->take_now({});
    do_all_in(*core_);
    all.at(i) = core_->take_now({});
    require(all.at(i).slot != nullptr, "a resource was not made");
  }
  for (std::size_t i = 0; i < made; ++i) {
    core_->give_back(all.at(i));  // used: it has to be validated before the next use
  }
  about_.core = core_.get();
}

asked_pool::grant asked_pool::take() {
  const grant got = core_->take_now({});
  require(got.slot != nullptr, "an idle resource was not found");
  return got;
}

void asked_pool::try_and_use() {
  const grant last = core_->take_last({});
  const grant got = last.slot != nullptr ? last : core_->take_now({});
  if (got.slot != nullptr) {
    use(got);
  }
}

void asked_pool::use(const grant& got) {
  resource& mine = resource_of(got);
  mine.uses.write(mine.uses.read() + 1);
  core_->give_back(got);
}

asked_pool::grant asked_pool::wait() {
  const grant last = core_->take_last({});
  return last.slot != nullptr ? last : core_->take({deadline(), {}, {}});
}

void asked_pool::wait_for_a_time() {
  try {
    use(core_->take({deadline::after(some_time), {}, {}}));
  } catch (const lido::acquire_error& error) {
    require(error.cause() == lido::acquire_failure::timed_out, "an error of no reason");
  }
}

void asked_pool::close() {
  require(core_->close(deadline()).complete(), "closed, and something is left");
}

void asked_pool::rest_until_there_are(std::size_t waiters) {
  while (core_->stats().waiters != waiters) {
    execution::now().rest();
  }
}

void asked_pool::work() {
  work_in(*core_);
}

void asked_pool::leave() {
  if (--users_ == 0) {
    close();
    wake_threads_of(*core_);  // the pool knows of no thread that would have to end
  }
}

void asked_pool::check() {
  const lido::resource_pool_stats stats = core_->stats();
  require(stats.waiters == 0, "somebody is still in the queue");
  require(stats.live == 0 && about_.created == about_.destroyed, "a closed pool has a resource");
}

void caller::ask(const std::stop_token& stop, deadline until) {
  pool_.core().take_async({until, stop, {}},
                          [this](const asked_pool::grant& got, const std::exception_ptr& error) {
                            be_told(got, error);
                          });
}

// relaxed (whole function): a look that only a second call would fail
void caller::be_told(const asked_pool::grant& got, const std::exception_ptr& error) {
  require(told_.load(std::memory_order_relaxed) == 0, "a callback was told twice");
  require((got.slot != nullptr) != static_cast<bool>(error),
          "a callback was told two things, or nothing");
  const int before = pool_.about().told++;
  require(turn_ == any_turn || turn_ == before, "a callback was overtaken by one that came later");
  pool_.about().touch_pool();
  got_ = got;
  told_.store(1, std::memory_order_release);
  lido::detail::unpark(&told_);
}

void caller::await() {
  while (told_.load(std::memory_order_acquire) == 0) {
    (void)lido::detail::park(told_, 0, {});
  }
}

void caller::await_and_use() {
  await();
  require(has_got(), "a callback was refused");
  pool_.use(got_);
}

void caller::await_the_end() {
  await();
  if (has_got()) {
    pool_.use(got_);
  }
}

}  // namespace model
