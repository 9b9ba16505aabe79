#include "scenarios/pooled.hpp"

#include <utility>

#include "lido/allocator/slot_wait.hpp"
#include "lido/base/callback.hpp"
#include "src/concurrency/pool_scope.hpp"

namespace model {

namespace {

alignas(64) std::array<std::byte, 64 * pooled::most_slots> storage;

}  // namespace

pooled::pooled(std::uint32_t capacity, cache_kind caches, std::uint32_t max_cached, bool may_wait,
               bool visits_free)
    : allocator_({.geometry = lido::detail::slot_geometry(storage.data(), stride),
                  .capacity = capacity,
                  .caches = caches,
                  .max_cached = max_cached,
                  .may_wait = may_wait,
                  .visits_free = visits_free}),
      books_(capacity) {
  execution::now().keep_for_each_thread(lido::detail::innermost_scope);
}

std::size_t pooled::number(const void* slot) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(slot) - storage.data()) / stride;
}

void* pooled::address(std::size_t number) {
  return storage.data() + number * stride;
}

std::size_t pooled::acquire() {
  const auto began = books_.begin();
  const void* const slot = allocator_.acquire();
  if (slot == nullptr) {
    books_.refused(began);
    return nothing;
  }
  books_.got(number(slot), began);
  return number(slot);
}

std::size_t pooled::acquire_past_caches() {
  const auto began = books_.begin();
  void* slot = nullptr;
  if (allocator_.acquire_n({&slot, 1}) == 0) {
    books_.refused(began);
    return nothing;
  }
  books_.got(number(slot), began);
  return number(slot);
}

std::size_t pooled::must_acquire() {
  const std::size_t slot = acquire();
  // A thread stopped with slots in transit may make others give up.
  require(slot != nothing || execution::now().had_solo(),
          "an acquire failed although there are slots for all");
  return slot;
}

std::size_t pooled::wait(lido::detail::slot_waiter& me, const lido::detail::deadline& until) {
  const auto began = books_.begin();
  const void* slot = allocator_.acquire();
  if (slot == nullptr) {
    slot = allocator_.wait_for_slot(me, until);
  }
  if (slot == nullptr) {
    return nothing;
  }
  books_.got(number(slot), began);
  return number(slot);
}

std::size_t pooled::wait() {
  lido::detail::slot_waiter me;
  const std::size_t slot = wait(me);
  require(slot != nothing, "a waiter left without a slot and without a reason");
  return slot;
}

std::size_t pooled::wait_in_line() {
  lido::detail::slot_waiter me;
  const std::size_t slot = wait_in_line(me);
  require(slot != nothing, "a waiter left without a slot and without a reason");
  return slot;
}

std::size_t pooled::wait_in_line(lido::detail::slot_waiter& me) {
  const auto began = books_.begin();
  const void* const slot = allocator_.wait_for_slot(me, {});
  if (slot == nullptr) {
    return nothing;
  }
  books_.got(number(slot), began);
  return number(slot);
}

void pooled::wait_async(std::function<void(std::size_t)> done, std::stop_token stop,
                        const lido::detail::deadline& until) {
  const auto began = books_.begin();
  const auto end = [this, done = std::move(done), began](const void* slot) {
    if (slot != nullptr) {
      books_.got(number(slot), began);
    }
    done(slot != nullptr ? number(slot) : nothing);
  };
  if (void* const slot = allocator_.acquire(); slot != nullptr) {
    end(slot);
    return;
  }
  allocator_.wait_async({.until = until, .stop = std::move(stop)},
                        lido::detail::completion<lido::detail::slot_outcome>(
                            [end](lido::detail::slot_outcome found) { end(found.slot); }));
}

void pooled::release(std::size_t slot) {
  if (slot == nothing) {
    return;
  }
  books_.gives(slot);
  allocator_.release(address(slot));
  books_.gave(slot);
}

std::vector<std::size_t> pooled::acquire_n(std::size_t count) {
  std::array<void*, most_slots> slots{};
  const auto began = books_.begin();
  const std::size_t taken = allocator_.acquire_n(std::span(slots).first(count));
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < taken; ++i) {
    numbers.push_back(number(slots.at(i)));
    books_.got(numbers.back(), began);
  }
  if (taken < count) {
    books_.refused(began);
  }
  return numbers;
}

void pooled::release_n(const std::vector<std::size_t>& numbers) {
  std::array<void*, most_slots> slots{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    books_.gives(numbers[i]);
    slots.at(i) = address(numbers[i]);
  }
  allocator_.release_n(std::span<void* const>(slots).first(numbers.size()));
  for (const std::size_t slot : numbers) {
    books_.gave(slot);
  }
}

void pooled::restart(bool visits) {
  class visitor final : public lido::detail::used_slot_visitor {
   public:
    void visit(lido::detail::slot_index slot) noexcept override { seen.push_back(slot); }

    std::vector<std::size_t> seen;
  };
  std::vector<std::size_t> used;
  for (std::size_t slot = 0; slot < books_.capacity(); ++slot) {
    if (books_.in_use(slot)) {
      books_.gives(slot);
      used.push_back(slot);
    }
  }
  visitor all;
  allocator_.restart(visits ? &all : nullptr);
  require(!visits || all.seen == used, "a restart does not visit exactly the slots in use");
  for (const std::size_t slot : used) {
    books_.gave(slot);
  }
}

void pooled::check(std::size_t held) {
  books_.check_refusals();
  require(stats().waiting == 0, "a waiter has left the pool but not its queue");
  in_threads([&] {
    std::vector<std::size_t> all;
    for (std::size_t slot = acquire(); slot != nothing; slot = acquire()) {
      all.push_back(slot);
    }
    require(all.size() + held == books_.capacity(), "a slot is lost");
    for (const std::size_t slot : all) {
      release(slot);
    }
  });
  const lido::slot_pool_stats quiet = stats();  // last: a lost slot must not show as a wrong number
  require(quiet.in_use == held, "the numbers of the pool do not say what is in use");
  require(quiet.in_use + quiet.idle == quiet.capacity, "the numbers of the pool do not add up");
}

}  // namespace model
