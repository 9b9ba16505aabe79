// What concerns all keys of a total: looks at each of them, and its numbers.
#include <algorithm>
#include <mutex>

#include "lido/resource/key_share.hpp"

namespace lido::detail {

void total_share::look_at(key_share& share) noexcept {
  const std::lock_guard guard(mutex_);
  ++share.looks_;
}

key_share* total_share::look_behind(const key_share* before) noexcept {
  const std::lock_guard guard(mutex_);
  key_share* const found = before != nullptr ? before->next_ : shares_;
  if (found != nullptr) {
    ++found->looks_;
  }
  return found;
}

/// What was ended meanwhile may have made room, or the clock have come to the next try of a create.
void total_share::end_look(key_share& share) noexcept {
  {
    const std::lock_guard guard(mutex_);
    reckon(share);
    --share.looks_;
  }
  look_again();
}

void total_share::trim(key_share& share) noexcept {
  // relaxed: a clock that may tick twice or not at all
  (void)era_.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t size = 0;
  {
    const std::lock_guard guard(mutex_);
    const auto live = static_cast<std::uint32_t>(share.core().stats().live);
    const std::uint32_t needed = std::max(share.claims(), live);
    if (share.resizing_ || share.granted_ <= needed) {
      return;
    }
    take_back(share, share.granted_ - needed);
    share.resizing_ = true;
    size = share.granted_;
  }
  apply(share, size);
  const std::lock_guard guard(mutex_);
  settle();
}

void total_share::close() noexcept {
  const std::lock_guard guard(mutex_);
  closed_ = true;
}

bool total_share::is_closed() const noexcept {
  const std::lock_guard guard(mutex_);
  return closed_;
}

total_share::numbers total_share::count() const noexcept {
  const std::lock_guard guard(mutex_);
  // relaxed: whoever is counted has joined under the mutex before
  return {.used = used_, .waiting = waits_.load(std::memory_order_relaxed), .moved = moved_};
}

}  // namespace lido::detail
