// Who waits for room, and which key needs more.
#include <algorithm>
#include <mutex>
#include <utility>

#include "lido/resource/key_share.hpp"

namespace lido::detail {

room_wait::room_wait(total_share& total, key_share& share) noexcept : total_(total), share_(share) {
  total_.join(*this);
}

room_wait::~room_wait() {
  total_.leave(*this);
}

void total_share::join(room_wait& wait) noexcept {
  key_share& share = wait.share_;
  wait.since_ = steady_now();
  {
    const std::lock_guard guard(mutex_);
    wait.number_ = ++last_number_;
    wait.previous_ = share.last_;
    (share.last_ != nullptr ? share.last_->next_ : share.first_) = &wait;
    share.last_ = &wait;
    share.ungranted_ = share.ungranted_ != nullptr ? share.ungranted_ : &wait;
    ++share.waiting_;
  }
  count_wait();
  pump(&share);
}

/// What was granted for another wait may have served this one, and that one's turn is earlier.
void total_share::leave(room_wait& wait) noexcept {
  key_share& share = wait.share_;
  const std::lock_guard guard(mutex_);
  (wait.previous_ != nullptr ? wait.previous_->next_ : share.first_) = wait.next_;
  (wait.next_ != nullptr ? wait.next_->previous_ : share.last_) = wait.previous_;
  share.ungranted_ = share.ungranted_ == &wait ? wait.next_ : share.ungranted_;
  --share.waiting_;
  share.granted_waits_ -= wait.granted_ ? 1 : 0;
  reckon(share);
  // relaxed: too many looks at the queue do no harm
  (void)waits_.fetch_sub(1, std::memory_order_relaxed);
}

/// The first wait of a key that needs one more grant, or null. One for each wait, unless somebody
/// else of the same key has taken what was granted for it.
room_wait* total_share::in_need(const key_share& share) const noexcept {
  const std::uint32_t claims = share.claims();
  if (share.granted_ >= std::min(max_per_key_, claims)) {
    return nullptr;
  }
  const bool was_taken = claims - share.waiting_ + share.granted_waits_ > share.granted_;
  return was_taken ? share.first_ : share.ungranted_;
}

/// After whatever may have made the key need more: whether it does is seen when it is on top.
void total_share::reckon(key_share& share) noexcept {
  line_up(share, share.first_);
}

void total_share::line_up(key_share& share, const room_wait* as) noexcept {
  needy_.remove(share);
  if (as != nullptr) {
    share.turn_ = as->number_;
    needy_.push(share);
  }
}

/// The first wait that needs more, of a key that could use it now. Where creates fail, who waits
/// for the next try looks again when it is due.
room_wait* total_share::first_in_need() noexcept {
  while (key_share* const share = needy_.first()) {
    room_wait* const wait = in_need(*share);
    if (wait == nullptr || wait->number_ != share->turn_) {
      line_up(*share, wait);
    } else if (share->core().use_of_room().backs_off) {
      needy_.remove(*share);
    } else {
      return wait;
    }
  }
  return nullptr;
}

/// The same, but that a key of which a resource comes back serves all who wait for it, whether it
/// may have more or not.
room_wait* total_share::first_to_serve(key_share& own) noexcept {
  room_wait* const first = first_in_need();
  const bool own_is_first =
      own.first_ != nullptr && (first == nullptr || own.first_->number_ < first->number_);
  return own_is_first ? own.first_ : first;
}

/// Whether so many are not enough for all who need one.
bool total_share::more_need_than(std::uint32_t coming) noexcept {
  std::uint32_t found = 0;
  key_share* counted = nullptr;
  while (found <= coming) {
    const room_wait* const first = first_in_need();
    if (first == nullptr) {
      break;
    }
    key_share& share = first->share_;
    found += share.waiting_ - (first == share.ungranted_ ? share.granted_waits_ : 0);
    needy_.remove(share);
    share.next_counted_ = std::exchange(counted, &share);
  }
  while (counted != nullptr) {
    needy_.push(*std::exchange(counted, counted->next_counted_));
  }
  return found > coming;
}

}  // namespace lido::detail
