// The only table of statistics: text, JSON, Prometheus and docs/reference/stats.md all use it.
#include "lido/telemetry/metrics.hpp"

#include <array>
#include <ostream>
#include <version>

#if defined(__cpp_lib_jthread)  // resource pools need it
#include "lido/resource/stats.hpp"
#endif

namespace lido::inline v0 {

namespace {

using maybe = std::optional<std::uint64_t>;
using source = metric::source;
using enum metric_kind;
using enum metric_unit;

template <auto Member>
maybe any(const source& from) {
  return from.pool.*Member;
}

template <auto Member>
maybe of_slots(const source& from) {
  return from.slot_stats != nullptr ? maybe(from.slot_stats->*Member) : std::nullopt;
}

template <auto Member>
maybe of_growing(const source& from) {
  return from.slot_stats != nullptr && from.slot_stats->growth
             ? maybe(*from.slot_stats->growth.*Member)
             : std::nullopt;
}

template <auto Member>
maybe of_waits(const source& from) {
  return from.can_wait ? any<Member>(from) : std::nullopt;
}

maybe has_locked_caches(const source& from) {
  return from.slot_stats != nullptr ? maybe(from.slot_stats->caches == cache_kind::locked)
                                    : std::nullopt;
}

/// Requires: `from` is a pool of slots.
std::string_view kind_of_caches(const source& from) {
  constexpr std::array<std::string_view, 3> words{"revocable", "locked", "none"};
  return words.at(static_cast<std::size_t>(from.slot_stats->caches));
}

constexpr std::array<std::string_view, 5> states{"used", "idle", "creating", "checking", "closing"};

constexpr std::span<const std::string_view> state(std::size_t index) {
  return std::span(states).subspan(index, 1);
}

#if defined(__cpp_lib_jthread)
template <auto Member>
maybe of_resources(const source& from) {
  return from.resources != nullptr ? maybe(from.resources->*Member) : std::nullopt;
}

template <auto Member>
maybe time_of_resources(const source& from) {
  return from.resources != nullptr ? maybe((from.resources->*Member).count()) : std::nullopt;
}

maybe destroyed(const source& from) {
  return from.resources != nullptr ? maybe(from.resources->destroyed.at(from.index)) : std::nullopt;
}

template <auto Member>
const duration_histogram* times_of(const pool_report& report) {
  return report.resources != nullptr ? &(report.resources->times.*Member) : nullptr;
}

const duration_histogram* uses_of(const pool_report& report) {
  const duration_histogram* const uses = times_of<&resource_pool_times::uses>(report);
  return uses != nullptr && uses->count() != 0 ? uses : nullptr;
}

constexpr std::array<std::string_view, destroy_reasons> reasons{
    "invalid",   "reset_refused", "too_old", "idle_too_long", "used_up",
    "discarded", "killed",        "flushed", "surplus",       "closed"};
using resources = resource_pool_stats;
#endif

using pools = pool_stats;
using slots = slot_pool_stats;
using growing = growth_stats;

// clang-format off
constexpr metric metrics[] = {
    {"capacity", "lido_pool_max", "slots in the pool; maximum number of resources", "", any<&pools::capacity>, gauge},
    {"in_use", "lido_pool_slots", "slots or resources that callers hold",
     "it stays at `capacity`: the pool or the backend is too slow", any<&pools::in_use>, gauge, count, "state", state(0)},
    {"idle", "lido_pool_slots", "free slots, wherever they are; resources ready to be lent", "",
     any<&pools::idle>, gauge, count, "state", state(1)},
    {"live", "lido_pool_live", "objects in use or kept; resources in any state", "the pool keeps objects",
     any<&pools::live>, gauge},
    {"waiting", "lido_pool_pending_requests", "threads, callbacks and coroutines that wait",
     "it stays above 0: callers lose time", of_waits<&pools::waiting>, gauge},
    {"high_water", "lido_pool_high_water", "most in use seen by stats(), an exhausted pool, a trip past a cache or a hand-over; with keys by stats() and ticks alone",
     "you size the pool", any<&pools::high_water>, gauge},
    {"exhausted", "lido_pool_exhausted_total", "acquires that found nothing free in a pool that could not grow, including those that then waited",
     "it grows: the pool is too small, or objects leak", any<&pools::exhausted>},
    {"refused", "lido_pool_refused_total",
     "of slots: acquires that found none, or with when_full::wait got none; of resources: "
     "too many waiters, pool closed, failed create, hold-and-wait",
     "it grows: the pool is too small, or sheds load by `max_waiters`", any<&pools::refused>},
    {"handed_over", "lido_pool_handed_over_total", "slots or resources that went to a waiter", "", of_waits<&pools::handed_over>},
    {"cached", "lido_pool_cached", "free slots in thread caches, part of the idle ones", "", of_slots<&slots::cached>, gauge},
    {"slow_acquires", "lido_pool_slow_acquires_total", "acquires on the slow path: all but hits of revocable caches",
     "it grows as fast as operations: bursts are larger than the caches", of_slots<&slots::slow_acquires>},
    {"acquires", "lido_pool_acquires_total", "slow acquires and hits, in pools that count hits: with Traits::counts, or without revocable caches", "",
     of_slots<&slots::acquires>},
    {"hits", "lido_pool_hits_total", "acquires from revocable caches, in pools that count them",
     "they are few beside `acquires`: bursts are larger than the caches", of_slots<&slots::hits>},
    {"refills", "lido_pool_refills_total", "trips of caches to the shared lists for slots",
     "it grows as fast as operations: bursts are larger than the caches", of_slots<&slots::refills>},
    {"flushes", "lido_pool_flushes_total", "trips of caches to the shared lists with slots", "as `refills`",
     of_slots<&slots::flushes>},
    {"thefts", "lido_pool_thefts_total", "caches that another thread emptied",
     "it grows fast: the pool is nearly exhausted, enlarge it", of_slots<&slots::thefts>},
    {"heavy_fences", "lido_pool_heavy_fences_total", "process-wide fences that thefts cost", "", of_slots<&slots::heavy_fences>},
    {"cas_retries", "lido_pool_cas_retries_total", "failed updates of the shared lists, if they are Lido's own",
     "it grows fast: threads contend", of_slots<&slots::cas_retries>},
    {"tag_headroom", "lido_pool_tag_headroom",
     "pushes during one pop before ABA becomes possible, if the shared lists are Lido's own", "",
     of_slots<&slots::tag_headroom>, gauge},
    {"open_caches", "lido_pool_open_caches", "live threads with an open cache", "", of_slots<&slots::open_caches>, gauge},
    {"caches", "lido_pool_caches_locked", "1 if caches are locked, otherwise 0; the member is a cache_kind, and a word in JSON",
     "it is 1: the system has no heavy fence, or forbids it", has_locked_caches, gauge, flag, "", {}, kind_of_caches},
    {"bookkeeping_bytes", "lido_pool_bookkeeping_bytes", "memory besides the slots, without that of checks", "",
     of_slots<&slots::bookkeeping_bytes>, gauge},
    {"total_bytes", "lido_pool_memory_bytes", "memory of slots, bookkeeping and checks", "you budget memory",
     of_slots<&slots::total_bytes>, gauge},
    {"max_capacity", "lido_pool_growth_limit", "maximum number of slots", "", of_growing<&growing::max_capacity>, gauge},
    {"segments", "lido_pool_segments", "segments in service", "", of_growing<&growing::segments>, gauge},
    {"slot_bytes", "lido_pool_slot_bytes", "memory of all slots", "", of_growing<&growing::slot_bytes>, gauge},
    {"growths", "lido_pool_growths_total", "segments taken into service",
     "`shrinks` grows, too: the pool oscillates, raise `capacity`", of_growing<&growing::growths>},
    {"shrinks", "lido_pool_shrinks_total", "segments given back", "", of_growing<&growing::shrinks>},
#if defined(__cpp_lib_jthread)
    {"creating", "lido_pool_slots", "resources being created, or due to be", "",
     of_resources<&resources::creating>, gauge, count, "state", state(2)},
    {"checking", "lido_pool_slots", "resources being validated or reset", "",
     of_resources<&resources::checking>, gauge, count, "state", state(3)},
    {"closing", "lido_pool_slots", "resources being destroyed", "",
     of_resources<&resources::closing>, gauge, count, "state", state(4)},
    {"suspended", "lido_pool_suspended", "whether suspend() is in force", "", of_resources<&resources::suspended>, gauge, flag},
    {"acquires", "lido_pool_acquires_total", "acquires that got a resource", "", of_resources<&resources::acquires>},
    {"hits", "lido_pool_hits_total", "acquires that did not queue", "they are few beside `acquires`: callers wait, or the pool creates",
     of_resources<&resources::hits>},
    {"timed_out", "lido_pool_timeouts_total", "waits that timed out", "it grows: raise an alert",
     of_resources<&resources::timed_out>},
    {"cancelled", "lido_pool_cancelled_total", "waits that a stop ended", "", of_resources<&resources::cancelled>},
    {"created", "lido_pool_creates_total", "successful creates", "", of_resources<&resources::created>},
    {"create_failures", "lido_pool_create_failures_total", "creates that failed, or that a flush overtook",
     "it grows: the backend is down", of_resources<&resources::create_failures>},
    {"detached", "lido_pool_detached_total", "resources taken out by detach()", "", of_resources<&resources::detached>},
    {"destroyed", "lido_pool_destroyed_total", "resources destroyed, by destroy_reason",
     "`invalid` grows: the peer closes idle connections; lower `max_lifetime` or `keepalive`", destroyed, counter, count,
     "reason", reasons},
    {"suspected_leaks", "lido_pool_suspected_leaks_total", "leases reported so far",
     "it grows: see [find a leak](../how-to/find-a-leak.md)", of_resources<&resources::suspected_leaks>},
    {"mutex_locks", "lido_pool_mutex_locks_total", "locks of the pool's mutex; none for idle, valid resources", "",
     of_resources<&resources::mutex_locks>},
    {"waited_for", "", "total time in the queue", "", time_of_resources<&resources::waited_for>, counter, nanoseconds},
    {"longest_wait", "lido_pool_longest_wait_seconds", "longest time in the queue", "",
     time_of_resources<&resources::longest_wait>, gauge, nanoseconds},
    {"creating_for", "", "total time of successful creates", "",
     time_of_resources<&resources::creating_for>, counter, nanoseconds},
    {"longest_create", "lido_pool_longest_create_seconds", "longest successful create", "",
     time_of_resources<&resources::longest_create>, gauge, nanoseconds},
#endif
};

#if defined(__cpp_lib_jthread)
constexpr std::array<time_metric, 3> time_metrics{{
    {"waits", "lido_pool_wait_time_seconds", "waits in the queue that ended with a resource",
     "they are long: the pool is too small, or the backend too slow", times_of<&resource_pool_times::waits>},
    {"creates", "lido_pool_create_time_seconds", "successful creates", "", times_of<&resource_pool_times::creates>},
    {"uses", "lido_pool_use_time_seconds", "times from acquire to release, with the option time_uses",
     "the pool is exhausted: callers hold resources for too long", uses_of},
}};
#else
constexpr std::array<time_metric, 0> time_metrics{};
#endif
// clang-format on

}  // namespace

std::span<const metric> pool_metrics() noexcept {
  return metrics;
}

std::span<const time_metric> pool_time_metrics() noexcept {
  return time_metrics;
}

metric::source detail::source_of(const pool_report& report) noexcept {
  const resource_pool_stats* resources = nullptr;
#if defined(__cpp_lib_jthread)
  resources = report.resources != nullptr ? &report.resources->stats : nullptr;
#endif
  return {.pool = report.stats,
          .slot_stats = report.slot_stats ? &*report.slot_stats : nullptr,
          .resources = resources,
          .can_wait = detail::can_wait(report)};
}

#if defined(__cpp_lib_jthread)
std::ostream& operator<<(std::ostream& out, const resource_pool_stats& stats) {
  return out << detail::text_of({.pool = stats, .slot_stats = nullptr, .resources = &stats});
}
#endif

}  // namespace lido::inline v0
