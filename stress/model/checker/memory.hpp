/// @file
/// The memory of one execution: all stores, and what each thread must already know of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace model {

/// Position of a store among the stores to its location.
using stamp = std::int32_t;
using thread_id = std::uint8_t;
using location_id = std::uint32_t;

/// Thread 0 sets up a scenario and checks its end; the others run concurrently.
inline constexpr thread_id most_threads = 8;
inline constexpr location_id most_locations = 376;

/// What a thread knows, and what a release store passes on. The first part contains, for each
/// thread, how far its past is known (a vector clock). The second part contains, for each location,
/// the oldest store that may still be read.
///
/// Both parts are in one array, because a join takes the maximum of every element.
using knowledge = stamp*;
inline constexpr std::size_t knowledge_size = most_threads + most_locations;

/// One store.
struct message {
  std::uint64_t value;
  stamp at;
  std::int32_t passes_on;  ///< a row of knowledge, or -1 if the store does not release
  bool attached;           ///< a read-modify-write: no store can come between it and its source
  thread_id by;
};

/// Models memory by views, after the operational models of release and acquire (Kang et al., A
/// Promising Semantics, POPL 2017, without the promises). Stores to one location are ordered. A
/// store may be ordered before stores that were made earlier, unless its thread knows them. A load
/// may return any store that is not older than the newest store that its thread knows.
class memory {
 public:
  memory();

  /// Forgets everything, for a new execution.
  void clear() noexcept;

  [[nodiscard]] location_id create(thread_id by, std::uint64_t value);
  /// Creates a location that existed before all threads, with the value 0.
  [[nodiscard]] location_id create_zeroed();
  void destroy(location_id where) noexcept { locations_[where].destroyed = true; }
  [[nodiscard]] bool destroyed(location_id where) const noexcept {
    return locations_[where].destroyed;
  }
  /// Returns whether `reader` knows that the location exists; if not, an access races with its
  /// construction.
  [[nodiscard]] bool created_before(location_id where, thread_id reader) noexcept;

  [[nodiscard]] const std::vector<message>& stores(location_id where) const noexcept {
    return locations_[where].stores;
  }
  /// Returns the index of the oldest store that `reader` may read.
  [[nodiscard]] std::size_t oldest_readable(location_id where, thread_id reader) noexcept;
  /// Returns the index of the oldest store that a seq_cst access of `reader` may read.
  [[nodiscard]] std::size_t oldest_in_order(location_id where, thread_id reader) noexcept;
  /// Returns whether a read-modify-write may directly follow the store at `index`.
  [[nodiscard]] bool can_attach(location_id where, std::size_t index) const noexcept;
  /// Returns whether a plain store may come between the store at `index` and the next store.
  [[nodiscard]] bool can_follow(location_id where, std::size_t index) const noexcept;

  void read(location_id where, std::size_t index, thread_id reader, bool acquire) noexcept;

  /// Adds a store directly after the store at `index`. If `attached` is true, the new store is that
  /// of a read-modify-write that has read the store at `index`.
  void write(location_id where, std::size_t index, std::uint64_t value, thread_id writer,
             bool release, bool attached);

  // ---- what threads know -----------------------------------------------------------------------

  [[nodiscard]] knowledge known_to(thread_id who) noexcept { return row(who); }
  void start_thread(thread_id who, thread_id parent) noexcept;
  void join_thread(thread_id who, thread_id ended) noexcept;
  /// Returns a row that passes on knowledge by means other than stores, as a mutex does.
  [[nodiscard]] std::int32_t new_row();
  void pass_on(std::int32_t to, thread_id from) noexcept;
  void take_over(thread_id to, std::int32_t from) noexcept;
  /// Lets time pass: all stores so far become visible to `who`. Orders nothing.
  void see_latest(thread_id who) noexcept;
  /// Record that seq_cst accesses to the same atomic are ordered as the threads make them.
  void see_total_order(thread_id who, location_id where) noexcept;
  void enter_total_order(thread_id who, location_id where) noexcept;
  /// Puts a seq_cst fence into a single order for all atomics at once. The fence orders every
  /// access that its thread knows.
  void fence_in_total_order(thread_id who) noexcept;

  // ---- the asymmetric fence --------------------------------------------------------------------

  void light_fence(thread_id who) noexcept;
  void heavy_fence_begin(thread_id caller) noexcept;
  void heavy_fence_reaches(thread_id other) noexcept;
  void heavy_fence_end(thread_id caller) noexcept;

 private:
  struct location {
    std::vector<message> stores;  // in modification order
    stamp creation;
    thread_id creator;
    bool destroyed;
  };

  [[nodiscard]] knowledge row(std::int32_t index) noexcept {
    return rows_.get() + static_cast<std::size_t>(index) * knowledge_size;
  }
  /// Returns a row of a store or mutex. The row may be older than some locations.
  [[nodiscard]] knowledge passed(std::int32_t index) noexcept;
  [[nodiscard]] std::size_t oldest_from(location_id where, stamp known) const noexcept;
  void join(knowledge to, const stamp* from) const noexcept;
  void join_stamps(knowledge to, const stamp* from) const noexcept;

  static constexpr std::int32_t most_rows = 1 << 14;
  // The first rows belong to the threads, the next ones to the fences.
  static constexpr std::int32_t before_light_fence = most_threads;  // what each thread had done
  static constexpr std::int32_t by_heavy_fence = 2 * most_threads;  // what has reached each thread
  static constexpr std::int32_t heavy = 3 * most_threads;
  static constexpr std::int32_t total_order = heavy + 1;
  static constexpr std::int32_t first_free_row = total_order + 1;

  std::unique_ptr<stamp[]> rows_;
  std::unique_ptr<location_id[]> locations_of_rows_;  ///< number of locations in each row
  std::int32_t rows_used_ = 0;
  std::vector<location> locations_;
  location_id used_ = 0;
};

}  // namespace model
