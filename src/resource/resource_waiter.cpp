#include "lido/resource/resource_waiter.hpp"

namespace lido::detail {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
constinit thread_local waiter_list* ended_waiters::delivering = nullptr;

bool resource_waiter::give(const resource_loan& loan, bool& was_asleep) noexcept {
  loan_ = loan;
  return end(static_cast<std::uint32_t>(wait_state::given), was_asleep);
}

bool resource_waiter::cancel(acquire_failure cause, bool& was_asleep) noexcept {
  return end(static_cast<std::uint32_t>(wait_state::cancelled) | static_cast<std::uint32_t>(cause)
                                                                     << cause_shift,
             was_asleep);
}

bool resource_waiter::cancel_and_wake(acquire_failure cause) noexcept {
  bool was_asleep = false;
  const atomic<std::uint32_t>* const word = &state_;
  const bool ended = cancel(cause, was_asleep);
  if (was_asleep) {
    unpark(word);
  }
  return ended;
}

bool resource_waiter::poke() noexcept {
  return swap(wait_state::asleep, wait_state::waiting);
}

bool resource_waiter::end(std::uint32_t last, bool& was_asleep) noexcept {
  // relaxed: only a guess, validated by (2)
  std::uint32_t seen = state_.load(std::memory_order_relaxed);
  while (is_open(seen)) {
    was_asleep = state_of(seen) == wait_state::asleep;
    // (2) - this release-CAS synchronizes-with the acquire-load (1), so the waiter sees the
    // resource. On failure relaxed: the word is again only a guess
    if (state_.compare_exchange_weak(seen, last, std::memory_order_release,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  was_asleep = false;
  return false;
}

bool resource_waiter::swap(wait_state from, wait_state to) noexcept {
  auto seen = static_cast<std::uint32_t>(from);
  // relaxed: says only whether a wake-up is needed; (1) is what the waiter acts on
  return state_.compare_exchange_strong(seen, static_cast<std::uint32_t>(to),
                                        std::memory_order_relaxed, std::memory_order_relaxed);
}

void waiter_list::push_back(resource_waiter& waiter) noexcept {
  waiter.previous_ = last_;
  waiter.next_ = nullptr;
  (last_ != nullptr ? last_->next_ : first_) = &waiter;
  last_ = &waiter;
  waiter.linked_ = true;
  ++size_;
}

void waiter_list::push_front(resource_waiter& waiter) noexcept {
  waiter.previous_ = nullptr;
  waiter.next_ = first_;
  (first_ != nullptr ? first_->previous_ : last_) = &waiter;
  first_ = &waiter;
  waiter.linked_ = true;
  ++size_;
}

bool waiter_list::remove(resource_waiter& waiter) noexcept {
  if (!waiter.linked_) {
    return false;
  }
  (waiter.previous_ != nullptr ? waiter.previous_->next_ : first_) = waiter.next_;
  (waiter.next_ != nullptr ? waiter.next_->previous_ : last_) = waiter.previous_;
  waiter.linked_ = false;
  --size_;
  return true;
}

void ended_waiters::wake(const atomic<std::uint32_t>* word) noexcept {
  if (last_ != nullptr) {
    unpark(last_);
  }
  last_ = word;
}

void ended_waiters::deliver_before_a_sleep() noexcept {
  while (resource_waiter* const waiter = delivering != nullptr ? delivering->first() : nullptr) {
    delivering->remove(*waiter);
    waiter->deliver()(*waiter);
  }
}

ended_waiters::~ended_waiters() {
  wake(nullptr);
  if (callbacks_.empty()) {
    return;
  }
  waiter_list* const outer = delivering;
  if (outer == nullptr) {
    delivering = &callbacks_;
  }
  while (resource_waiter* const waiter = callbacks_.first()) {
    callbacks_.remove(*waiter);
    if (outer != nullptr) {
      outer->push_back(*waiter);
    } else {
      waiter->deliver()(*waiter);
    }
  }
  if (outer == nullptr) {
    delivering = nullptr;
  }
}

}  // namespace lido::detail
