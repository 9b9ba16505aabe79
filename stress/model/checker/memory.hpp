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

/// Thread 0 sets up and checks the end; the others run concurrently.
inline constexpr thread_id most_threads = 8;
inline constexpr location_id most_locations = 376;

/// What a thread knows, and what a release store passes on. For each thread: how far its past is
/// known (a vector clock). Then for each location: the oldest store that may still be read.
///
/// One array, because a join is the maximum of all of it.
using knowledge = stamp*;
inline constexpr std::size_t knowledge_size = most_threads + most_locations;

/// One store.
struct message {
  std::uint64_t value;
  stamp at;
  std::int32_t passes_on;  ///< a row of knowledge, or none (-1): the store does not release
  bool attached;           ///< a read-modify-write's: nothing can come between it and what it read
  thread_id by;
};

/// Views after the operational models of release and acquire (Kang et al., A Promising Semantics,
/// POPL 2017, without the promises). Stores to one location are ordered; a store may come before
/// others that were made earlier, unless its thread knows them. A load returns any store that is
/// not older than the newest one its thread knows of.
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
  /// Returns whether `reader` knows that the location exists; if not, its construction is a race.
  [[nodiscard]] bool created_before(location_id where, thread_id reader) noexcept;

  [[nodiscard]] const std::vector<message>& stores(location_id where) const noexcept {
    return locations_[where].stores;
  }
  /// Returns the index of the oldest store that `reader` may return.
  [[nodiscard]] std::size_t oldest_readable(location_id where, thread_id reader) noexcept;
  /// Returns the index of the oldest store that a seq_cst access may return.
  [[nodiscard]] std::size_t oldest_in_order(location_id where, thread_id reader) noexcept;
  /// Returns whether a read-modify-write may directly follow the store at `index`.
  [[nodiscard]] bool can_attach(location_id where, std::size_t index) const noexcept;
  /// Returns whether a plain store may come between the store at `index` and the next one.
  [[nodiscard]] bool can_follow(location_id where, std::size_t index) const noexcept;

  void read(location_id where, std::size_t index, thread_id reader, bool acquire) noexcept;

  /// Adds a store directly after the one at `index`, which it has read if `attached`.
  void write(location_id where, std::size_t index, std::uint64_t value, thread_id writer,
             bool release, bool attached);

  // ---- what threads know -----------------------------------------------------------------------

  [[nodiscard]] knowledge known_to(thread_id who) noexcept { return row(who); }
  void start_thread(thread_id who, thread_id parent) noexcept;
  void join_thread(thread_id who, thread_id ended) noexcept;
  /// Returns a row that passes on knowledge by other means, as a mutex does.
  [[nodiscard]] std::int32_t new_row();
  void pass_on(std::int32_t to, thread_id from) noexcept;
  void take_over(thread_id to, std::int32_t from) noexcept;
  /// Lets time pass: all stores so far become visible to `who`. Orders nothing.
  void see_latest(thread_id who) noexcept;
  /// Records that seq_cst accesses of the same atomic are ordered as the threads make them.
  void see_total_order(thread_id who, location_id where) noexcept;
  void enter_total_order(thread_id who, location_id where) noexcept;
  /// Puts a seq_cst fence into one order for all atomics at once, and for every access that its
  /// thread knows of.
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
  /// Returns a row after the first ones, which may be older than some locations.
  [[nodiscard]] knowledge passed(std::int32_t index) noexcept;
  [[nodiscard]] std::size_t oldest_from(location_id where, stamp known) const noexcept;
  void join(knowledge to, const stamp* from) const noexcept;
  void join_stamps(knowledge to, const stamp* from) const noexcept;

  static constexpr std::int32_t most_rows = 1 << 14;
  // The first rows belong to the threads, the next ones to the fences.
  static constexpr std::int32_t before_light_fence = most_threads;  // what each had done by then
  static constexpr std::int32_t by_heavy_fence = 2 * most_threads;  // what has reached each since
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
