#include "lido/resource/stats.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "../debug/report_text.hpp"
#include "lido/base/assert.hpp"

namespace lido::inline v0 {

namespace {

/// Returns what an error says about one lease.
std::string about(const lease_info& lease) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(lease.held_for).count();
  // Without a tick since the lease began, the pool does not know how long it has been held.
  const std::string time = ms != 0 ? " for " + std::to_string(ms) + " ms" : "";
  if (lease.thread == 0) {
    // Any thread may use the lease of a callback, or a lease that has been moved.
    return (ms != 0 ? "; one has been in use" : "; one is in use") + time + ", its thread unknown";
  }
  return "; thread " + std::to_string(lease.thread) + (ms != 0 ? " has held one" : " holds one") +
         time;
}

std::string compose(const acquire_error::details& details) {
  const resource_pool_stats& counts = details.counts;
  std::string text =
      "lido: pool '" + details.pool + "': " + std::string(to_string(details.cause)) + "; " +
      std::to_string(counts.in_use) + " of " + std::to_string(counts.capacity) + " in use, " +
      std::to_string(counts.idle) + " idle, " + std::to_string(counts.creating) + " being made, " +
      std::to_string(counts.waiting) + " waiting" +
      (details.max_total != 0 ? "; of all keys " + std::to_string(details.total_live) + " of " +
                                    std::to_string(details.max_total)
                              : std::string()) +
      (counts.suspended ? "; the pool is suspended" : "");
  if (details.create_error || !details.create_error_text.empty()) {
    text += "; the last create failed: " + details.create_error_text;
  }
  for (const lease_info& holder : details.holders) {
    text += about(holder);
  }
  return text;
}

const acquire_error::details& present(const std::shared_ptr<const acquire_error::details>& some) {
  LIDO_ASSERT(some != nullptr, "an acquire_error without details");
  return *some;
}

}  // namespace

void resource_pool_stats::add(const resource_pool_stats& other) noexcept {
  using stats = resource_pool_stats;
  constexpr std::size_t stats::*gauges[] = {&stats::capacity, &stats::in_use,  &stats::idle,
                                            &stats::live,     &stats::waiting, &stats::creating,
                                            &stats::checking, &stats::closing};
  constexpr std::uint64_t stats::*counts[] = {
      &stats::acquires,        &stats::hits,      &stats::exhausted,      &stats::refused,
      &stats::handed_over,     &stats::timed_out, &stats::cancelled,      &stats::created,
      &stats::create_failures, &stats::detached,  &stats::suspected_leaks};
  for (const auto gauge : gauges) {
    this->*gauge += other.*gauge;
  }
  for (const auto count : counts) {
    this->*count += other.*count;
  }
  for (std::size_t reason = 0; reason < destroy_reasons; ++reason) {
    destroyed.at(reason) += other.destroyed.at(reason);
  }
  waited_for += other.waited_for;
  creating_for += other.creating_for;
  longest_wait = (std::max)(longest_wait, other.longest_wait);
  longest_create = (std::max)(longest_create, other.longest_create);
  suspended |= other.suspended;
  mutex_locks = (std::max)(mutex_locks, other.mutex_locks);
}

std::string_view to_string(destroy_reason reason) noexcept {
  constexpr std::array<std::string_view, destroy_reasons> texts{
      "invalid",   "reset refused", "too old", "idle too long", "used up",
      "discarded", "killed",        "flushed", "surplus",       "closed"};
  return texts.at(static_cast<std::size_t>(reason));
}

std::string_view to_string(pool_event::kind what) noexcept {
  constexpr std::array<std::string_view, 7> texts{
      "create failed",  "validate failed",    "reset failed", "slow lease",
      "suspected leak", "returned after all", "orphaned"};
  return texts.at(static_cast<std::size_t>(what));
}

std::string_view to_string(acquire_failure cause) noexcept {
  constexpr std::array<std::string_view, 7> texts{
      "timed out",
      "cancelled",
      "the pool is closed",
      "too many waiters",
      "create failed",
      "every resource is held by a thread that waits for this pool",
      "the pool belongs to the process that this one was forked from"};
  return texts.at(static_cast<std::size_t>(cause));
}

acquire_error::acquire_error(std::shared_ptr<const details> what_was)
    : std::runtime_error(compose(present(what_was))), details_(std::move(what_was)) {}

std::string lease_info::where() const {
  detail::report_text text;
  (text.where({address}) << ":").commands();
  return std::string(text.view().substr(0, text.view().size() - 1));
}

}  // namespace lido::inline v0
