#include "lido/debug/release_bias.hpp"

#include "lido/concurrency/asymmetric_fence.hpp"
#include "lido/debug/thread_label.hpp"

namespace lido::detail {

bool release_bias::settle(slot_record& record, std::uint64_t use, place at) noexcept {
  if (!record.try_claim(use)) {
    return false;
  }
  record.note_release(use, at);
  return true;
}

bool release_bias::end_as_other(slot_record& record, place at) noexcept {
  const std::uint64_t use = record.last_use();
  if (record.has_ended(use)) {
    return false;
  }
  share();
  // Again: a holder that was about to release has stored it by now, or will have to claim.
  if (record.has_ended(use) || !record.try_claim(use)) {
    return false;
  }
  record.publish_end(use);
  record.note_release_by(use, at, this_thread_id());
  return true;
}

void release_bias::share() noexcept {
  // (1) - this acquire-load synchronizes-with the release-store (2), so what the fence made visible
  // to that thread is visible to this one
  if (sharing_.load(std::memory_order_acquire) == sharing::complete) {
    return;
  }
  // relaxed: the heavy fence shows it to all
  sharing_.store(sharing::announced, std::memory_order_relaxed);
  // It does not fail where it is available; if it did, the worst would be two releases that both
  // believe to be the first.
  (void)heavy_fence();
  // (2) - this release-store synchronizes-with the acquire-load (1)
  sharing_.store(sharing::complete, std::memory_order_release);
}

}  // namespace lido::detail
