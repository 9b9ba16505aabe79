/// @file
/// Internal. The free slots of a concurrent slot map, and an end behind all slots with values.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>

#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_geometry.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/magazine/slot_census.hpp"
#include "lido/magazine/slot_source_impl.hpp"

namespace lido::detail {

/// A slot_source that also knows an end behind which no slot has a value, for walks. New values
/// raise it. `lower_end` takes all free slots out for a moment and lowers it to behind the others.
///
/// Invariants
///  I1 The thread that lowers the end holds `census_word_`: one bit for that, and a number that
///     moves with each change, and as the holder gets on.
///  I2 The end is lowered only while the holder has all slots from the new end on in its census. So
///     the end stays above each slot that another thread has. A thread that gets a slot from the
///     census sees the end that was set before, and raises it anew.
///  I3 take fails only for the reasons of slot_source, or if the holder did nothing for a tenth of
///     a second: slots in the census do not count as taken. A thread that has looked beside a few
///     of them lets no other begin (`patient_`).
/// Memory ordering: `end_` is relaxed, since I2 goes by the hand-over of slots (slot_source). That
///   no census began during a look is told by a release-CAS (2) on the word.
/// Progress: take and give_back as slot_source; a take that finds nothing while a census is held
///   waits as I3 says. lower_end does not wait for callers of the map.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final, and its base is private
class slot_supply final : private thread_exit_listener {
 public:
  /// As slot_source.
  slot_supply(slot_geometry slots, std::uint32_t capacity, std::uint32_t max_cached)
      : capacity_(capacity),
        source_(slots, capacity, cache_choice::automatic, max_cached),
        census_(capacity) {
    // A new source may hand out its highest slots first.
    if (census_.extend_to(capacity_) != 0) {
      throw std::bad_alloc();
    }
    take_census();
    put_back_census();
    // relaxed: no other thread is here yet
    census_word_.store(0, std::memory_order_relaxed);
    register_listener();
  }
  slot_supply(const slot_supply&) = delete;
  slot_supply& operator=(const slot_supply&) = delete;
  ~slot_supply() { unregister_listener(); }

  /// A free slot, which the caller owns now; null when all are taken (I3).
  [[nodiscard]] void* take() noexcept {
    void* const slot = source_.acquire();
    return slot != nullptr ? slot : take_beside_census();
  }
  void give_back(void* slot) noexcept { source_.release(slot); }

  [[nodiscard]] pool_stats stats() const noexcept { return source_.stats(); }

  [[nodiscard]] std::uint32_t end() const noexcept {
    // relaxed: raised before the value is published, so a thread that has met the value sees it
    // raised. It stays above while the value is there (I2); the slot's own word says what is in a
    // slot
    return end_.load(std::memory_order_relaxed);
  }

  /// A value is about to be published. Requires: the caller owns the slot.
  // relaxed (whole function): see end()
  void raise_end(std::uint32_t slot) noexcept {
    std::uint32_t before = end_.load(std::memory_order_relaxed);
    while (before <= slot) {
      if (end_.compare_exchange_weak(before, slot + 1, std::memory_order_relaxed,
                                     std::memory_order_relaxed)) {
        return;
      }
    }
  }

  /// Lowers the end as far as slots are free. Calls `discard(end, before, note)` while no other
  /// thread can get the slots behind it; those up to `before` were taken once. `discard` calls
  /// `note()` every few milliseconds (I3). No effect if another thread is doing this, or others
  /// have waited for too many of these.
  template <class Discard>
  void lower_end(Discard discard) noexcept {
    // relaxed: a hint
    if (patient_.load(std::memory_order_relaxed) != 0 || !try_hold()) {
      return;
    }
    take_census();
    const std::uint32_t end = end_of_taken();
    const std::uint32_t before = std::max(end, this->end());
    if (end < before) {
      // relaxed: see end()
      end_.store(end, std::memory_order_relaxed);
    }
    discard(end, before, [this]() noexcept { note_progress(); });
    put_back_census();
    let_go();
  }

 private:
  using word = std::uint64_t;
  static constexpr word held = 1;
  static constexpr word one_change = 2;
  [[nodiscard]] static bool is_held(word seen) noexcept { return (seen & held) != 0; }

  /// Counts one more for as long as it lives.
  class one_more {
   public:
    explicit one_more(atomic<std::uint32_t>& them) noexcept : them_(them) {
      // relaxed: a hint
      them_.fetch_add(1, std::memory_order_relaxed);
    }
    one_more(const one_more&) = delete;
    one_more& operator=(const one_more&) = delete;
    ~one_more() {
      // relaxed: a hint
      them_.fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    atomic<std::uint32_t>& them_;
  };

  /// After an acquire that found nothing. The word's number never goes back: where it is 0 now, no
  /// census has ever begun, so the first look counts.
  [[nodiscard, gnu::noinline]] void* take_beside_census() noexcept {
    constexpr word many = 32 * one_change;
    exponential_backoff backoff;
    word before = 0;
    int waits = 0;
    // relaxed: only to see how far it gets
    const word first = census_word_.load(std::memory_order_relaxed);
    std::optional<one_more> patient;
    while (!unchanged_since(before)) {
      // (1) - this acquire-load synchronizes-with the release-store (4), so the slots that the last
      // census gave back are visible
      const word seen = census_word_.load(std::memory_order_acquire);
      waits = seen == before ? waits + 1 : 0;
      before = seen;
      if (seen - first > many && !patient) {
        patient.emplace(patient_);
      }
      if (is_held(seen) && waits == tuning::most_waits) {
        return nullptr;
      }
      if (is_held(seen)) {
        slot_source<>::wait_for_transit(waits, backoff);
      }
      if (void* const slot = is_held(seen) ? source_.acquire_from_depot() : source_.acquire();
          slot != nullptr) {
        return slot;
      }
    }
    return nullptr;
  }

  /// Whether no census was under way from the moment `seen` was read.
  [[nodiscard]] bool unchanged_since(word seen) noexcept {
    if (is_held(seen)) {
      return false;
    }
    // (2) - this release-CAS synchronizes-with the acquire-CAS (3): the looks of this thread come
    // before the next census begins. On failure relaxed: it is read again by (1)
    return census_word_.compare_exchange_strong(seen, seen, std::memory_order_release,
                                                std::memory_order_relaxed);
  }

  [[nodiscard]] bool try_hold() noexcept {
    // relaxed: only a guess, validated by (3)
    word seen = census_word_.load(std::memory_order_relaxed);
    while (!is_held(seen)) {
      // (3) - this acquire-CAS synchronizes-with the release-CAS (2) and the release-store (4): the
      // census is as the last holder left it. On failure relaxed: looked at again
      if (census_word_.compare_exchange_weak(seen, (seen + one_change) | held,
                                             std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  void let_go() noexcept {
    // relaxed: only the holder writes it while it is held
    const word now = census_word_.load(std::memory_order_relaxed);
    // (4) - this release-store synchronizes-with the acquire-load (1) and the acquire-CAS (3)
    census_word_.store(now + one_change - held, std::memory_order_release);
  }
  void note_progress() noexcept {
    // relaxed (2x): written by the holder alone; only that it moves is of interest
    const word now = census_word_.load(std::memory_order_relaxed);
    census_word_.store(now + one_change, std::memory_order_relaxed);
  }

  void take_census() noexcept {
    source_.collect([this](std::span<const slot_index> found) {
      census_.insert(found);
      note_progress();
    });
  }

  /// The index behind the last slot that is not in the census.
  [[nodiscard]] std::uint32_t end_of_taken() noexcept {
    constexpr std::uint32_t slots_between_notes = std::uint32_t{1} << 26U;  // some milliseconds
    constexpr auto word_size = static_cast<std::uint32_t>(slot_census::most_at_once);
    std::uint32_t end = capacity_;
    while (end != 0 && census_.holds_all(end - 1, end)) {
      const bool whole = end % word_size == 0 && census_.holds_all(end - word_size, end);
      end -= whole ? word_size : 1;
      if (end % slots_between_notes == 0) {
        note_progress();
      }
    }
    return end;
  }

  /// Low slots end on top, so that they are used first. Magazines have no room for a seventeenth of
  /// all slots (depot I3), so these are single. A thread that takes few slots takes single ones,
  /// others take magazines, and both are to begin low. So in the lowest eighth each word fills one
  /// magazine, and its other slots are single. That leaves magazines enough for all slots above.
  void put_back_census() noexcept {
    std::array<slot_index, slot_census::most_at_once> chunk;
    std::uint64_t end = census_.end();
    while (const std::size_t count = census_.take_highest(chunk, end)) {
      const bool is_low = end < capacity_ / 8;
      const std::size_t together = is_low ? std::min<std::size_t>(count, magazine_size) : count;
      source_.give_back(std::span(chunk).first(together));
      give_back_apart(std::span(chunk).subspan(together, count - together));
      note_progress();
    }
  }

  /// Gives back so few at a time that they do not fill a magazine.
  void give_back_apart(std::span<const slot_index> slots) noexcept {
    while (!slots.empty()) {
      const std::size_t size = std::min<std::size_t>(slots.size(), magazine_size / 2);
      source_.give_back(slots.first(size));
      slots = slots.subspan(size);
    }
  }

  void on_thread_exit(std::uint32_t /*number*/) noexcept override {}
  // Puts back the census of a holder that does not exist in this process. What the holder had not
  // yet put there is lost to this process.
  void on_fork(std::uint32_t /*survivor*/) noexcept override {
    // relaxed (2x): there is one thread, and it does not wait
    patient_.store(0, std::memory_order_relaxed);
    if (is_held(census_word_.load(std::memory_order_relaxed))) {
      put_back_census();
      let_go();
    }
  }

  std::uint32_t capacity_;
  slot_source<> source_;
  slot_census census_;
  alignas(no_false_sharing) atomic<std::uint32_t> end_{0};
  alignas(no_false_sharing) atomic<word> census_word_{0};
  atomic<std::uint32_t> patient_{0};  ///< threads waiting; no census begins meanwhile
};

}  // namespace lido::detail
