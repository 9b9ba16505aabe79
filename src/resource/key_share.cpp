#include "lido/resource/key_share.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace lido::detail {

void key_share::look_again() noexcept {
  total_->look_again(*this);
}

total_share::~total_share() {
  while (shares_ != nullptr) {
    const std::unique_ptr<key_share> gone(shares_);
    shares_ = gone->next_;
  }
}

key_share& total_share::add(std::unique_ptr<key_share> share) {
  share->core().resize(0, 0);  // its slots are made: no resize allocates from now on
  share->total_ = this;
  share->core().get_room_from(*share);
  key_share& added = *share;
  bool is_closed = false;
  {
    const std::lock_guard guard(mutex_);
    added.core().begin_behind(last_birth_);
    added.next_ = shares_;
    if (shares_ != nullptr) {
      shares_->previous_ = &added;
    }
    shares_ = share.release();
    is_closed = closed_;
  }
  if (is_closed) {
    (void)added.core().end(deadline::after(std::chrono::nanoseconds(0)));
  }
  return added;
}

std::unique_ptr<key_share> total_share::remove(key_share& share) noexcept {
  const std::lock_guard guard(mutex_);
  const room_use use = share.core().use_of_room();
  if (share.claims() != 0 || share.looks_ != 1 || share.resizing_ || use.live != 0 ||
      use.failed_of_late) {
    return nullptr;
  }
  last_birth_ = std::max(last_birth_, share.core().last_birth());
  used_ -= share.granted_ + share.owed_;
  owed_ -= share.owed_;
  share.granted_ = 0;
  share.owed_ = 0;
  let_go(share);
  needy_.remove(share);
  (share.previous_ != nullptr ? share.previous_->next_ : shares_) = share.next_;
  if (share.next_ != nullptr) {
    share.next_->previous_ = share.previous_;
  }
  return std::unique_ptr<key_share>(&share);
}

// ---- grants -------------------------------------------------------------------------------------

/// Moves grants to those who wait, as long as there are any to move. `needing`: a key that may need
/// more than before, or null.
void total_share::pump(key_share* needing) noexcept {
  std::uint32_t size = 0;
  while (key_share* const changed = next_change(std::exchange(needing, nullptr), size)) {
    apply(*changed, size);
  }
}

/// A key whose core is to be resized by the caller; null: nothing more can be done.
key_share* total_share::next_change(key_share* needing, std::uint32_t& size) noexcept {
  const std::lock_guard guard(mutex_);
  if (needing != nullptr) {
    reckon(*needing);
  }
  settle();
  key_share* changed = plan();
  while (changed != nullptr && changed->resizing_) {
    changed->again_ = true;  // who is at it will see to that, too
    changed = plan();
  }
  if (changed != nullptr) {
    changed->resizing_ = true;
    size = changed->granted_;
  }
  return changed;
}

/// Until the core has the size that was granted last.
void total_share::apply(key_share& share, std::uint32_t size) noexcept {
  for (;;) {
    share.core().resize(size, 0);
    const std::lock_guard guard(mutex_);
    if (!std::exchange(share.again_, false)) {
      share.resizing_ = false;
      return;
    }
    size = share.granted_;
  }
}

/// Changes the grant of one key, for the first who needs more, and returns that key.
key_share* total_share::plan() noexcept {
  room_wait* const first = first_in_need();
  if (first == nullptr) {
    return nullptr;
  }
  if (used_ < max_total_) {
    grant(*first);
    return &first->share_;
  }
  const std::uint32_t soon = coming();
  key_share* const source = soon == 0 || more_need_than(soon) ? least_needed() : nullptr;
  if (source != nullptr) {
    take_back(*source, 1);
    ++moved_;
  }
  return source;
}

void total_share::grant(room_wait& wait) noexcept {
  key_share& share = wait.share_;
  if (share.granted_ + share.owed_ == 0) {
    share.next_held_ = std::exchange(held_, &share);
  }
  ++used_;
  ++share.granted_;
  if (!std::exchange(wait.granted_, true)) {
    ++share.granted_waits_;
    share.ungranted_ = wait.next_;
  }
}

/// Grants that are free when who resizes a core is done.
std::uint32_t total_share::coming() const noexcept {
  std::uint32_t found = 0;
  for (const key_share* share = owed_ != 0 ? held_ : nullptr; share != nullptr;
       share = share->next_held_) {
    found += share->resizing_ ? share->owed_ : 0;
  }
  return found;
}

/// Where creates fail, those who wait for the next try need nothing until then but what is there.
bool total_share::has_more_than_needed(const key_share& share) noexcept {
  const std::uint32_t claims = share.claims();
  if (share.granted_ > claims || share.waiting_ == 0) {
    return share.granted_ > claims;
  }
  const room_use use = share.core().use_of_room();
  return use.backs_off && share.granted_ > std::min(use.live, claims);
}

/// Of the keys with more than their users need, the one that was not used for longest.
key_share* total_share::least_needed() const noexcept {
  key_share* found = nullptr;
  std::uint64_t oldest = 0;
  for (key_share* share = held_; share != nullptr; share = share->next_held_) {
    // relaxed: a hint about which one is best
    const std::uint64_t used = share->last_used_.load(std::memory_order_relaxed);
    if ((found == nullptr || used < oldest) && has_more_than_needed(*share)) {
      found = share;
      oldest = used;
    }
  }
  return found;
}

void total_share::take_back(key_share& share, std::uint32_t grants) noexcept {
  share.granted_ -= grants;
  share.owed_ += grants;
  owed_ += grants;
  reckon(share);
}

/// What was taken back is free when the resources that it was for are gone. No core begins more
/// than it was granted last, so fewer than that stay.
void total_share::settle() noexcept {
  key_share* share = owed_ != 0 ? held_ : nullptr;
  while (share != nullptr) {
    key_share* const next = share->next_held_;
    if (share->owed_ != 0 && !share->resizing_) {
      pay(*share);
    }
    share = next;
  }
}

void total_share::pay(key_share& share) noexcept {
  const auto live = static_cast<std::uint32_t>(share.core().stats().live);
  const std::uint32_t most = share.granted_ + share.owed_;
  const std::uint32_t paid = std::min(share.owed_, most - std::min(most, live));
  share.owed_ -= paid;
  owed_ -= paid;
  used_ -= paid;
  let_go(share);
}

/// If the key has nothing any more.
void total_share::let_go(key_share& share) noexcept {
  if (share.granted_ + share.owed_ != 0) {
    return;
  }
  key_share** at = &held_;
  while (*at != nullptr && *at != &share) {
    at = &(*at)->next_held_;
  }
  if (*at != nullptr) {
    *at = share.next_held_;
  }
}

/// Before a resource comes back: those who wait for the same key are served first only until
/// somebody else has waited for too long.
void total_share::let_older_go_first(key_share& share) noexcept {
  std::uint32_t size = 0;
  {
    const std::lock_guard guard(mutex_);
    room_wait* const first = first_to_serve(share);
    if (first == nullptr || &first->share_ == &share || share.waiting_ == 0 || used_ < max_total_ ||
        share.granted_ == 0 || share.resizing_) {
      return;
    }
    const nanos moment = steady_now();
    if (moment - first->since_ < patience_) {
      return;
    }
    first->since_ = moment;  // one is enough for now
    take_back(share, 1);
    ++moved_;
    share.resizing_ = true;
    size = share.granted_;
  }
  apply(share, size);
}

// ---- acquire and release ------------------------------------------------------------------------

/// Room that was granted for another of the key may go to this one.
void total_share::begin_use(key_share& share) noexcept {
  look_again(share);
}

/// What came and went in an acquire may have made room, although it ends with a lease that is kept.
void total_share::end_acquire() noexcept {
  look_again();
}

resource_grant total_share::take_last(key_share& share, place at) noexcept {
  begin_use(share);
  return share.core().take_last(at);
}

resource_grant total_share::take_now(key_share& share, place at) noexcept {
  acquire_request request{.until = {}, .stop = {}, .at = at};
  resource_grant taken = share.core().take_now(request);
  if (taken.slot == nullptr) {
    const room_wait here(*this, share);
    request.looks_after = false;
    taken = share.core().take_now(request);
  }
  end_acquire();
  return taken;
}

resource_grant total_share::take(key_share& share, acquire_request request) {
  if (request.stop.stop_requested()) {
    return share.core().take(request);  // an error; in the queue it would take room from others
  }
  resource_grant taken = request.until.is_at_once()
                             ? share.core().take_now({.until = {}, .stop = {}, .at = request.at})
                             : share.core().take_now(request, validation::by_caller);
  request.looks_after = false;
  const bool is_over =
      request.stop.stop_requested() || (!request.until.is_at_once() && request.until.passed());
  if (taken.slot == nullptr && is_over) {
    taken = share.core().take(request);  // as above
  } else if (taken.slot == nullptr) {
    const room_wait here(*this, share);
    taken = share.core().take(request);
  }
  end_acquire();
  return taken;
}

/// However the lease ends: a key whose users discard does not go before others for ever.
void total_share::begin_end_of_use(key_share& share) noexcept {
  if (anybody_waits()) {
    let_older_go_first(share);
  }
}

/// The end of a lease.
void total_share::end_use(key_share& share) noexcept {
  // relaxed (2x): a hint about which key was used last
  share.last_used_.store(era_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  leave(share);
}

void total_share::give_back(key_share& share, const resource_grant& grant) noexcept {
  begin_end_of_use(share);
  share.core().give_back(grant);
  end_use(share);
}

void total_share::retire(key_share& share, const resource_grant& grant) noexcept {
  begin_end_of_use(share);
  share.core().retire(grant, destroy_reason::discarded);
  end_use(share);
}

void total_share::forget(key_share& share, const resource_grant& grant) noexcept {
  begin_end_of_use(share);
  share.core().forget(grant);
  end_use(share);
}

void total_share::leave(key_share& share) noexcept {
  share.unclaim();
  look_again();
}

void total_share::look_again() noexcept {
  if (anybody_waits()) {
    pump();
  }
}

void total_share::look_again(key_share& share) noexcept {
  if (anybody_waits()) {
    pump(&share);
  }
}

}  // namespace lido::detail
