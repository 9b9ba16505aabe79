/// @file
/// Internal. How keys share a total: each has a pool of its own, whose size is what it was granted.
#pragma once

#include <cstdint>
#include <memory>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/concurrency/mutex.hpp"
#include "lido/resource/resource_short_way.hpp"
#include "lido/resource/soonest_first.hpp"

namespace lido::detail {

class room_wait;
class total_share;

/// One key's part. Derived: with the key.
class alignas(no_false_sharing) key_share : public room_source, public heap_links<key_share> {
 public:
  explicit key_share(std::shared_ptr<resource_core> core) : core_(std::move(core)) {}

  [[nodiscard]] resource_core& core() const noexcept { return *core_; }
  void look_again() noexcept override;

  /// One more acquire or lease of this key: it stays, and its grants are in use as far as they go.
  /// Only while the key cannot be removed.
  void claim() noexcept {
    // (1) - this seq_cst-fetch-add synchronizes-with the seq_cst-load (3), and is in one total
    // order with it and with (4, 5): a grant is not taken away from who uses it, and either this
    // thread sees who of its key waits, or who waits knows that another may take what it is granted
    (void)claims_.fetch_add(1, std::memory_order_seq_cst);
  }

 private:
  friend class total_share;
  friend struct earlier_turn;

  void unclaim() noexcept {
    // (2) - this seq_cst-fetch-sub synchronizes-with the seq_cst-load (3), and is in one total
    // order with it and with (4, 5): either this thread sees who waits for room, or who waits sees
    // that there is some
    (void)claims_.fetch_sub(1, std::memory_order_seq_cst);
  }
  [[nodiscard]] std::uint32_t claims() const noexcept {
    // (3) - this seq_cst-load synchronizes-with the seq_cst-fetch-add (1) and the seq_cst-fetch-sub
    // (2), so what the last user did is visible
    return claims_.load(std::memory_order_seq_cst);
  }

  std::shared_ptr<resource_core> core_;
  total_share* total_ = nullptr;  // set once, before anybody waits
  atomic<std::uint32_t> claims_{0};
  atomic<std::uint64_t> last_used_{0};
  // Under the mutex of the total.
  std::uint32_t looks_ = 0;    // that keep the key, but need no room
  std::uint32_t granted_ = 0;  // the size that the core has, or is about to have
  std::uint32_t owed_ = 0;     // taken back, and perhaps still alive
  std::uint32_t waiting_ = 0;
  std::uint32_t granted_waits_ = 0;  // of these, those that something was granted for
  bool resizing_ = false;
  bool again_ = false;          // what is granted has changed meanwhile
  std::uint64_t turn_ = 0;      // of the wait that needs more, or of one before it
  room_wait* first_ = nullptr;  // in the order in which they came
  room_wait* last_ = nullptr;
  room_wait* ungranted_ = nullptr;  // the first of them, behind which all are
  key_share* next_ = nullptr;
  key_share* previous_ = nullptr;
  key_share* next_held_ = nullptr;
  key_share* next_counted_ = nullptr;
};

/// One acquire that waits for room, for its time in the queue.
class room_wait {
 public:
  room_wait(total_share& total, key_share& share) noexcept;
  room_wait(const room_wait&) = delete;
  room_wait& operator=(const room_wait&) = delete;
  ~room_wait();

 private:
  friend class total_share;
  total_share& total_;
  key_share& share_;
  nanos since_ = 0;
  std::uint64_t number_ = 0;
  bool granted_ = false;
  room_wait* next_ = nullptr;
  room_wait* previous_ = nullptr;
};

/// Of two keys that need room, whose turn it is.
struct earlier_turn {
  bool operator()(const key_share& one, const key_share& other) const noexcept {
    return one.turn_ < other.turn_;
  }
};

/// The limit over all keys, and the one queue of those who wait for room under it.
///
/// A key may have as many resources as it was granted. Who finds none idle and may have no more
/// stands in this queue, and waits in that of its own key: whatever comes first serves it. Grants
/// that a key does not use go to the first in the queue whose own limit allows it, once the
/// resource that was made under the grant is gone.
///
/// The queue is kept by keys: within a key, grants go to the waits in their order, so the one that
/// needs the next is found in constant time; and of the keys, that whose wait came first is on top
/// of a heap. Whether a key needs anything is seen when it is on top.
///
/// Invariants
///  I1 `granted_ + owed_` summed over all keys is `used_`, never more than `max_total_`; a key has
///     no more resources alive than its own sum.
///  I2 Who makes or gives up a claim looks at the queue; who joins it looks at all claims.
///  I3 A core is resized by one thread at a time and without the mutex, since that ends resources;
///     a debt is not settled meanwhile.
///  I4 A key that needs room is in the heap, in its turn or before it; or its creates fail, and who
///     sees the next try due looks again, as does each tick. Whoever makes a key need more puts it
///     there.
/// Progress: blocking. An acquire and release that the own key serves only reads `waits_`.
class total_share final {
 public:
  total_share(std::uint32_t max_total, std::uint32_t max_per_key, nanos patience) noexcept
      : max_total_(max_total), max_per_key_(max_per_key), patience_(patience) {}
  total_share(const total_share&) = delete;
  total_share& operator=(const total_share&) = delete;
  ~total_share();

  /// A new key. Throws std::bad_alloc.
  key_share& add(std::unique_ptr<key_share> share);
  /// The key if it has nothing, nobody is with it but one look, and it need not remember how long
  /// to wait for the next try; then it is not in the total any more.
  [[nodiscard]] std::unique_ptr<key_share> remove(key_share& share) noexcept;

  // ---- by who has claimed the share -------------------------------------------------------------

  /// The short way; an empty grant where it leads nowhere.
  [[nodiscard]] resource_grant take_last(key_share& share, place at) noexcept;
  /// The long ways, after that. Empty: nothing is to be had.
  [[nodiscard]] resource_grant take_now(key_share& share, place at) noexcept;
  /// Throws acquire_error.
  [[nodiscard]] resource_grant take(key_share& share, acquire_request request);
  /// The end of a lease, and of its claim.
  void give_back(key_share& share, const resource_grant& grant) noexcept;
  void retire(key_share& share, const resource_grant& grant) noexcept;
  void forget(key_share& share, const resource_grant& grant) noexcept;
  /// The end of a claim. The share may be gone afterwards.
  void leave(key_share& share) noexcept;
  /// After a claim has ended or a key has gone: there may be room.
  void look_again() noexcept;
  /// After a claim was made, or what held creates up is over: this key may need room, too.
  void look_again(key_share& share) noexcept;

  // ---- all keys ---------------------------------------------------------------------------------

  /// Looks at a share, which stays until the look ends. Only while the key cannot be removed.
  void look_at(key_share& share) noexcept;
  /// The same for the share behind one that is looked at, or for the first; null behind the last.
  /// New shares come before all others, so a walk ends. Allocates nothing.
  [[nodiscard]] key_share* look_behind(const key_share* before) noexcept;
  /// The share may be gone afterwards.
  void end_look(key_share& share) noexcept;
  /// Takes back what a key does not need that is looked at.
  void trim(key_share& share) noexcept;
  /// From now on new keys are closed.
  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept;

  struct numbers {
    std::uint32_t used = 0;
    std::uint32_t waiting = 0;
    std::uint64_t moved = 0;  ///< grants that went from key to key
  };
  [[nodiscard]] numbers count() const noexcept;
  [[nodiscard]] std::uint32_t max_total() const noexcept { return max_total_; }

 private:
  friend class room_wait;

  [[nodiscard]] bool anybody_waits() const noexcept {
    // (4) - this seq_cst-load synchronizes-with the seq_cst-fetch-add (5), and is in one total
    // order with it and with (1, 2, 3)
    return waits_.load(std::memory_order_seq_cst) != 0;
  }
  void count_wait() noexcept {
    // (5) - this seq_cst-fetch-add synchronizes-with the seq_cst-load (4), and is in one total
    // order with it and with (1, 2, 3): see there
    (void)waits_.fetch_add(1, std::memory_order_seq_cst);
  }
  void join(room_wait& wait) noexcept;
  void leave(room_wait& wait) noexcept;
  [[nodiscard]] room_wait* in_need(const key_share& share) const noexcept;
  void reckon(key_share& share) noexcept;
  void line_up(key_share& share, const room_wait* as) noexcept;
  [[nodiscard]] room_wait* first_in_need() noexcept;
  [[nodiscard]] room_wait* first_to_serve(key_share& own) noexcept;
  [[nodiscard]] bool more_need_than(std::uint32_t coming) noexcept;

  void begin_use(key_share& share) noexcept;
  void end_acquire() noexcept;
  void begin_end_of_use(key_share& share) noexcept;
  void end_use(key_share& share) noexcept;
  void pump(key_share* needing = nullptr) noexcept;
  [[nodiscard]] key_share* next_change(key_share* needing, std::uint32_t& size) noexcept;
  void apply(key_share& share, std::uint32_t size) noexcept;
  [[nodiscard]] key_share* plan() noexcept;
  void grant(room_wait& wait) noexcept;
  [[nodiscard]] static bool has_more_than_needed(const key_share& share) noexcept;
  [[nodiscard]] key_share* least_needed() const noexcept;
  [[nodiscard]] std::uint32_t coming() const noexcept;
  void settle() noexcept;
  void pay(key_share& share) noexcept;
  void take_back(key_share& share, std::uint32_t grants) noexcept;
  void let_go(key_share& share) noexcept;
  void let_older_go_first(key_share& share) noexcept;

  const std::uint32_t max_total_;
  const std::uint32_t max_per_key_;
  const nanos patience_;
  atomic<std::uint32_t> waits_{0};
  atomic<std::uint64_t> era_{1};

  mutable plain_mutex mutex_;
  key_share* shares_ = nullptr;  // owned
  key_share* held_ = nullptr;    // those that were granted or owe something
  soonest_first<key_share, earlier_turn> needy_;
  std::uint64_t last_number_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t owed_ = 0;
  std::uint64_t moved_ = 0;
  std::uint64_t last_birth_ = 0;  ///< of keys that are gone: none like it comes again
  bool closed_ = false;
};

}  // namespace lido::detail
