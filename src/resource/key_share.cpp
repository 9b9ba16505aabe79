#include "lido/resource/key_share.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "lido/base/mutation.hpp"

namespace lido::detail {

namespace {

nanos waiting_clock() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

total_share::~total_share() {
  while (shares_ != nullptr) {
    const std::unique_ptr<key_share> gone(shares_);
    shares_ = gone->next_;
  }
}

key_share& total_share::add(std::unique_ptr<key_share> share) {
  share->core().resize(0, 0);  // its slots are made: no resize allocates from now on
  share->core().get_room_from(*this);
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
  if (share.claims() != 0 || share.looks_ != 1 || share.resizing_ ||
      share.core().stats().live != 0) {
    return nullptr;
  }
  last_birth_ = std::max(last_birth_, share.core().last_birth());
  used_ -= share.granted_ + share.owed_;
  owed_ -= share.owed_;
  (share.previous_ != nullptr ? share.previous_->next_ : shares_) = share.next_;
  if (share.next_ != nullptr) {
    share.next_->previous_ = share.previous_;
  }
  return std::unique_ptr<key_share>(&share);
}

// ---- the queue ----------------------------------------------------------------------------------

total_share::wait::wait(total_share& total, key_share& share) noexcept
    : total_(total), share_(share), since_(waiting_clock()) {
  {
    const std::lock_guard guard(total_.mutex_);
    previous_ = total_.last_;
    (previous_ != nullptr ? previous_->next_ : total_.first_) = this;
    total_.last_ = this;
    ++share_.waiting_;
  }
  // (5) - this seq_cst-fetch-add synchronizes-with the seq_cst-load (4), and is in one total order
  // with it and with (1, 2, 3): see there
  (void)total_.waits_.fetch_add(1, std::memory_order_seq_cst);
  total_.pump();
}

total_share::wait::~wait() {
  const std::lock_guard guard(total_.mutex_);
  (previous_ != nullptr ? previous_->next_ : total_.first_) = next_;
  (next_ != nullptr ? next_->previous_ : total_.last_) = previous_;
  --share_.waiting_;
  share_.granted_waits_ -= granted_ ? 1 : 0;
  // relaxed: too many looks at the queue do no harm
  (void)total_.waits_.fetch_sub(1, std::memory_order_relaxed);
}

/// Once for each wait, unless somebody else of the same key has taken what was granted for it.
bool total_share::needs_more(const wait& waiting) const noexcept {
  const key_share& share = waiting.share_;
  const std::uint32_t claims = share.claims();
  return share.granted_ < std::min(max_per_key_, claims) &&
         (!waiting.granted_ || claims - share.waiting_ + share.granted_waits_ > share.granted_) &&
         !share.core().use_of_room().backs_off;
}

/// `own`: a key that serves all who wait for it, whether it may have more or not.
total_share::wait* total_share::first_in_need(const key_share* own) const noexcept {
  wait* candidate = first_;
  while (candidate != nullptr && &candidate->share_ != own && !needs_more(*candidate)) {
    candidate = candidate->next_;
  }
  return candidate;
}

std::uint32_t total_share::needy() const noexcept {
  std::uint32_t found = 0;
  for (const wait* candidate = first_; candidate != nullptr; candidate = candidate->next_) {
    found += needs_more(*candidate) ? 1 : 0;
  }
  return found;
}

// ---- grants -------------------------------------------------------------------------------------

/// Moves grants to those who wait, as long as there are any to move.
void total_share::pump() noexcept {
  std::uint32_t size = 0;
  while (key_share* const changed = next_change(size)) {
    apply(*changed, size);
  }
}

/// A key whose core is to be resized by the caller; null: nothing more can be done.
key_share* total_share::next_change(std::uint32_t& size) noexcept {
  const std::lock_guard guard(mutex_);
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
  wait* const first = first_in_need();
  if (first == nullptr) {
    return nullptr;
  }
  if (used_ < max_total_) {
    ++used_;
    ++first->share_.granted_;
    first->share_.granted_waits_ += std::exchange(first->granted_, true) ? 0 : 1;
    return &first->share_;
  }
  std::uint32_t coming = 0;
  for (const key_share* share = shares_; share != nullptr; share = share->next_) {
    coming += share->resizing_ ? share->owed_ : 0;
  }
  key_share* const source = needy() > coming ? least_needed() : nullptr;
  if (source != nullptr) {
    take_back(*source, 1);
    ++moved_;
  }
  return source;
}

/// Of the keys with more than their users need, the one that was not used for longest. Where
/// creates fail, those who wait for the next try need nothing until then but what is there.
key_share* total_share::least_needed() const noexcept {
  if (broken(mutation::hoarding_key)) {
    return nullptr;
  }
  key_share* found = nullptr;
  std::uint64_t oldest = 0;
  for (key_share* share = shares_; share != nullptr; share = share->next_) {
    // relaxed: a hint about which one is best
    const std::uint64_t used = share->last_used_.load(std::memory_order_relaxed);
    const room_use use = share->core().use_of_room();
    const std::uint32_t needed =
        use.backs_off ? std::min(use.live, share->claims()) : share->claims();
    if (share->granted_ > needed && (found == nullptr || used < oldest)) {
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
}

/// What was taken back is free when the resources that it was for are gone. No core begins more
/// than it was granted last, so fewer than that stay.
void total_share::settle() noexcept {
  if (owed_ == 0) {
    return;
  }
  for (key_share* share = shares_; share != nullptr; share = share->next_) {
    if (share->owed_ == 0 || share->resizing_) {
      continue;
    }
    const auto live = static_cast<std::uint32_t>(share->core().stats().live);
    const std::uint32_t most = share->granted_ + share->owed_;
    const std::uint32_t paid = broken(mutation::early_settlement)
                                   ? share->owed_
                                   : std::min(share->owed_, most - std::min(most, live));
    share->owed_ -= paid;
    owed_ -= paid;
    used_ -= paid;
  }
}

/// Before a resource comes back: those who wait for the same key are served first only until
/// somebody else has waited for too long.
void total_share::let_older_go_first(key_share& share) noexcept {
  std::uint32_t size = 0;
  {
    const std::lock_guard guard(mutex_);
    wait* const first = first_in_need(&share);
    if (first == nullptr || &first->share_ == &share || share.waiting_ == 0 || used_ < max_total_ ||
        share.granted_ == 0 || share.resizing_) {
      return;
    }
    const nanos moment = waiting_clock();
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
void total_share::begin_use() noexcept {
  if (!broken(mutation::claim_unwatched)) {
    look_again();
  }
}

/// What came and went in an acquire may have made room, although it ends with a lease that is kept.
void total_share::end_acquire() noexcept {
  if (!broken(mutation::acquire_unwatched)) {
    look_again();
  }
}

resource_grant total_share::try_take(key_share& share, place at) noexcept {
  begin_use();
  resource_grant taken = share.core().take_last(at);
  if (taken.slot == nullptr) {
    taken = share.core().take_now(at);
    if (taken.slot == nullptr) {
      const wait here(*this, share);
      taken = share.core().take_now(at);
    }
    end_acquire();
  }
  return taken;
}

resource_grant total_share::take(key_share& share, const acquire_request& request) {
  begin_use();
  resource_grant taken;
  if (!request.stop.stop_requested()) {
    taken = share.core().take_last(request.at);
    if (taken.slot != nullptr) {
      return taken;
    }
    taken = request.until.is_at_once() ? share.core().take_now(request.at)
                                       : share.core().take_now(request.at, request.until,
                                                               validation::by_caller, request.stop);
  }
  if (taken.slot == nullptr) {
    const wait here(*this, share);
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
  if (!broken(mutation::key_unwatched)) {
    look_again();
  }
}

void total_share::look_again() noexcept {
  if (anybody_waits()) {
    pump();
  }
}

}  // namespace lido::detail
