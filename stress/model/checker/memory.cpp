#include "checker/memory.hpp"

#include <algorithm>
#include <stdexcept>

namespace model {

namespace {

// Distance between the stamps of two stores that are appended one after the other. It leaves room
// for stores in between.
constexpr stamp gap = 1 << 10;

}  // namespace

memory::memory()
    // Each row is filled when it is first used: filling all rows takes longer than a short
    // scenario.
    : rows_(std::make_unique_for_overwrite<stamp[]>(most_rows * knowledge_size)),
      locations_of_rows_(std::make_unique_for_overwrite<location_id[]>(most_rows)),
      locations_(most_locations) {
  std::fill_n(rows_.get(), first_free_row * knowledge_size, 0);
  clear();
}

void memory::clear() noexcept {
  for (std::int32_t index = 0; index < first_free_row; ++index) {
    std::fill_n(row(index), most_threads + used_, 0);
  }
  rows_used_ = first_free_row;
  used_ = 0;
  row(0)[0] = 1;
}

void memory::join(knowledge to, const stamp* from) const noexcept {
  const std::size_t size = most_threads + used_;
  for (std::size_t i = 0; i < size; ++i) {
    to[i] = std::max(to[i], from[i]);
  }
}

void memory::join_stamps(knowledge to, const stamp* from) const noexcept {
  const std::size_t size = most_threads + used_;
  for (std::size_t i = most_threads; i < size; ++i) {
    to[i] = std::max(to[i], from[i]);
  }
}

location_id memory::create(thread_id by, std::uint64_t value) {
  if (used_ == most_locations) {
    throw std::length_error("model: too many atomics for one scenario; make it smaller");
  }
  const location_id where = used_++;
  location& made = locations_[where];
  made.stores.clear();
  made.stores.push_back({value, 0, -1, /*attached=*/false, by});
  made.creation = row(by)[by];
  made.creator = by;
  made.destroyed = false;
  return where;
}

location_id memory::create_zeroed() {
  const location_id where = create(0, 0);
  locations_[where].creation = 0;
  return where;
}

knowledge memory::passed(std::int32_t index) noexcept {
  location_id& known = locations_of_rows_[index];
  std::fill(row(index) + most_threads + known, row(index) + most_threads + used_, 0);
  known = used_;
  return row(index);
}

bool memory::created_before(location_id where, thread_id reader) noexcept {
  const location& asked = locations_[where];
  return asked.creation <= row(reader)[asked.creator];
}

std::size_t memory::oldest_readable(location_id where, thread_id reader) noexcept {
  return oldest_from(where, row(reader)[most_threads + where]);
}

std::size_t memory::oldest_in_order(location_id where, thread_id reader) noexcept {
  const std::size_t at = most_threads + where;
  return oldest_from(where, std::max(row(reader)[at], row(total_order)[at]));
}

std::size_t memory::oldest_from(location_id where, stamp known) const noexcept {
  const auto& stores = locations_[where].stores;
  std::size_t index = stores.size() - 1;
  while (stores[index].at > known && index > 0) {
    --index;
  }
  return index;
}

bool memory::can_attach(location_id where, std::size_t index) const noexcept {
  const auto& stores = locations_[where].stores;
  return index + 1 == stores.size() ||
         (!stores[index + 1].attached && stores[index + 1].at - stores[index].at > 1);
}

bool memory::can_follow(location_id where, std::size_t index) const noexcept {
  return can_attach(where, index);
}

void memory::read(location_id where, std::size_t index, thread_id reader, bool acquire) noexcept {
  const message& from = locations_[where].stores[index];
  stamp& known = row(reader)[most_threads + where];
  known = std::max(known, from.at);
  if (acquire && from.passes_on >= 0) {
    join(row(reader), passed(from.passes_on));
  }
}

void memory::write(location_id where, std::size_t index, std::uint64_t value, thread_id writer,
                   bool release, bool attached) {
  auto& stores = locations_[where].stores;
  const bool last = index + 1 == stores.size();
  const stamp before = stores[index].at;
  const stamp at = last ? before + gap : before + (stores[index + 1].at - before) / 2;
  const std::int32_t continued = attached ? stores[index].passes_on : -1;
  const knowledge mine = row(writer);
  mine[most_threads + where] = std::max(mine[most_threads + where], at);
  // A read-modify-write passes on what it read, whatever its own memory order: this is the release
  // sequence.
  std::int32_t passes_on = continued;
  if (release) {
    passes_on = new_row();
    std::copy_n(row(writer), most_threads + used_, row(passes_on));
    if (continued >= 0) {
      join(row(passes_on), passed(continued));
    }
    ++row(writer)[writer];
  }
  stores.insert(stores.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                {value, at, passes_on, attached, writer});
}

std::int32_t memory::new_row() {
  if (rows_used_ == most_rows) {
    throw std::length_error("model: too many stores in one execution");
  }
  std::fill_n(row(rows_used_), most_threads + used_, 0);
  locations_of_rows_[rows_used_] = used_;
  return rows_used_++;
}

void memory::start_thread(thread_id who, thread_id parent) noexcept {
  ++row(parent)[parent];
  join(row(who), row(parent));
  ++row(who)[who];
  std::copy_n(row(who), most_threads + used_, row(before_light_fence + who));
  std::fill_n(row(by_heavy_fence + who), most_threads + used_, 0);
}

void memory::join_thread(thread_id who, thread_id ended) noexcept {
  join(row(who), row(ended));
}

void memory::pass_on(std::int32_t to, thread_id from) noexcept {
  join(passed(to), row(from));
  ++row(from)[from];
}

void memory::take_over(thread_id to, std::int32_t from) noexcept {
  join(row(to), passed(from));
}

void memory::see_latest(thread_id who) noexcept {
  for (location_id where = 0; where < used_; ++where) {
    row(who)[most_threads + where] = locations_[where].stores.back().at;
  }
}

// Orders one atomic at a time: a seq_cst access implies nothing about relaxed accesses to other
// atomics.
void memory::see_total_order(thread_id who, location_id where) noexcept {
  stamp& known = row(who)[most_threads + where];
  known = std::max(known, row(total_order)[most_threads + where]);
}

void memory::enter_total_order(thread_id who, location_id where) noexcept {
  stamp& known = row(total_order)[most_threads + where];
  known = std::max(known, row(who)[most_threads + where]);
}

// Orders both ways (C++20, atomics.order 4): an access after the fence is not older than a seq_cst
// access before the fence. Nor is a seq_cst access after the fence older than what came before the
// fence. Plain data is not ordered: one fence does not happen before the next.
void memory::fence_in_total_order(thread_id who) noexcept {
  join_stamps(row(who), row(total_order));
  join_stamps(row(total_order), row(who));
}

// The compiler may move accesses up to the light fences around them. So a heavy fence that reaches
// a thread between two light fences takes effect from the second light fence on. It publishes what
// the thread did before the first light fence.
void memory::light_fence(thread_id who) noexcept {
  join_stamps(row(who), row(by_heavy_fence + who));
  std::copy_n(row(who), most_threads + used_, row(before_light_fence + who));
}

void memory::heavy_fence_begin(thread_id caller) noexcept {
  join_stamps(row(heavy), row(caller));
}

void memory::heavy_fence_reaches(thread_id other) noexcept {
  join_stamps(row(heavy), row(before_light_fence + other));
  join_stamps(row(by_heavy_fence + other), row(heavy));
}

void memory::heavy_fence_end(thread_id caller) noexcept {
  join_stamps(row(caller), row(heavy));
}

}  // namespace model
