// Implements traces. Threads record events in ring buffers, and the events are then written to the
// trace file.
#include "lido/telemetry/trace.hpp"

#include <array>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "../base/plain_text.hpp"
#include "../concurrency/event_sink.hpp"
#include "../platform/platform.hpp"
#include "lido/base/fail.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/debug/registry.hpp"

namespace lido::inline v0 {
namespace detail {
namespace {

/// A zero-terminated text that needs no escaping in JSON.
using short_text = std::array<char, 32>;

struct event {
  std::int64_t begin;
  std::int64_t duration;
  std::size_t slots;
  traced_act what;
  std::uint32_t thread;
  short_text thread_name;  ///< name at the first event
  short_text pool;
};

/// Buffers the events of one thread number, whichever thread has the number. Ring 0 buffers the
/// events of all threads without a number.
struct ring {
  boost::lockfree::spsc_queue<event, boost::lockfree::capacity<trace::events_per_thread>> events;
  std::uint32_t thread = 0;
  short_text thread_name{};
};

constinit std::array<atomic<ring*>, max_thread_number + 1> rings{};
constinit atomic<std::uint64_t> lost{0};
constinit platform::static_mutex reading;
constinit platform::static_mutex
    unnumbered;  ///< guards ring 0, which ending threads and threads without a number share

short_text shorten(std::string_view text) noexcept {
  short_text out{};
  (void)copy_plain(text, std::span(out).first(out.size() - 1));
  return out;
}

/// Returns the ring of this thread, or null if there is no memory.
ring* own_ring() noexcept {
  atomic<ring*>& own = rings[own_thread_offset() / thread_stride];
  // relaxed: written by this thread, or by a thread that had its number before
  ring* found = own.load(std::memory_order_relaxed);
  if (found == nullptr) {
    void* const memory = std::calloc(1, sizeof(ring));  // NOLINT(*-no-malloc): see event_sink
    found = memory != nullptr ? std::construct_at(static_cast<ring*>(memory)) : nullptr;
    // (1) - this release-store synchronizes-with the acquire-load (2), so the ring is complete
    own.store(found, std::memory_order_release);
  }
  return found;
}

void record(traced_act what, std::string_view pool, std::int64_t begin,
            std::size_t slots) noexcept {
  const std::int64_t duration = read_event_clock() - begin;
  const std::uint32_t thread = this_thread_id();
  std::unique_lock lock(unnumbered, std::defer_lock);
  if (own_thread_offset() == 0 && !assign_thread_number()) {
    lock.lock();
  }
  ring* const own = own_ring();
  if (own != nullptr && own->thread != thread) {
    short_text name;
    own->thread = thread;
    own->thread_name = shorten({name.data(), platform::thread_name(thread, name)});
  }
  if (own == nullptr ||
      !own->events.push({begin, duration, slots, what, thread, own->thread_name, shorten(pool)})) {
    // relaxed: a count
    lost.fetch_add(1, std::memory_order_relaxed);
  }
}

/// Calls `f` with each event, and then removes the event. If `f` throws, the event stays. Not by
/// spsc_queue::consume_all, which removes no event until `f` has returned for all of them.
/// Requires: the caller has locked `reading`.
template <class F>
void consume_all(const F& f) {
  for (const atomic<ring*>& one : rings) {
    // (2) - this acquire-load synchronizes-with the release-store (1)
    ring* const found = one.load(std::memory_order_acquire);
    for (std::size_t left = found != nullptr ? found->events.read_available() : 0; left != 0;
         --left) {
      (void)found->events.consume_one(f);
    }
  }
}

/// Writes an entry that is not the first one in the file. The format begins with a comma and a new
/// line, so that a stream which refuses an entry gets no comma either.
template <class... Args>
void write_entry(std::ostream& out, const char* format, Args... args) {
  std::array<char, 256> text;
  (void)std::snprintf(text.data(), text.size(), format, args...);
  out << text.data();
}

}  // namespace
}  // namespace detail

trace::trace(std::ostream& out) : trace(out, registry::global()) {}

trace::trace(std::ostream& out, const registry& pools) : out_(out), pools_(pools) {
  const std::scoped_lock lock(detail::reading);
  if (detail::is_traced()) {
    detail::throw_error(std::logic_error("lido: another trace is running"));
  }
  detail::consume_all([](const detail::event& /*late*/) {});
  out << R"({"traceEvents":[{"name":"trace_begins","ph":"M"})";
  write_points();
  // relaxed (2x): everything that threads need for recording already exists
  detail::lost.store(0, std::memory_order_relaxed);
  detail::current_sink.store(&detail::record, std::memory_order_relaxed);
}

trace::~trace() {
  const std::scoped_lock lock(detail::reading);
  // relaxed: an event that is just being recorded may come too late for the file
  detail::current_sink.store(nullptr, std::memory_order_relaxed);
  detail::attempt(
      [this] {
        write_events();
        write_points();
        const std::string count = std::to_string(lost());  // ignores the locale of the stream
        out_ << "\n],\"otherData\":{\"lost_events\":" << count << "}}\n" << std::flush;
      },
      [] {});
}

void trace::drain() {
  const std::scoped_lock lock(detail::reading);
  write_events();
  write_points();
}

void trace::write_events() {
  constexpr std::array acts{"refill", "flush", "theft", "wait", "grow", "create"};
  const std::uint32_t process = detail::platform::process_id();
  detail::consume_all([&](const detail::event& one) {
    if (!named_.contains(one.thread)) {
      detail::write_entry(
          out_,
          ",\n"
          R"({"name":"thread_name","ph":"M","pid":%u,"tid":%u,"args":{"name":"%s"}})",
          process, one.thread, one.thread_name.data());
      named_.insert(one.thread);
    }
    detail::write_entry(
        out_,
        ",\n"
        R"({"name":"%s","cat":"lido","ph":"X","pid":%u,"tid":%u,"ts":%lld.%03lld,"dur":%lld.%03lld,)"
        R"("args":{"pool":"%s","slots":%zu}})",
        acts[static_cast<std::size_t>(one.what)], process, one.thread, one.begin / 1000LL,
        one.begin % 1000LL, one.duration / 1000LL, one.duration % 1000LL, one.pool.data(),
        one.slots);
  });
}

/// Adds a point to the curves of each pool. Curves of pools that have been destroyed end at 0. A
/// curve is listed before its first point is written, because the stream may throw after that.
void trace::write_points() {
  std::set<std::uint64_t> alive;
  pools_.visit([&](const pool_report& report) {
    alive.insert(report.number);
    const auto [one, is_new] = drawn_.try_emplace(
        report.number, curves{std::string(report.name) + '#' + std::to_string(report.number),
                              detail::can_wait(report)});
    write_point(one->second, report.stats.in_use, report.stats.waiting);
  });
  for (auto one = drawn_.begin(); one != drawn_.end();) {
    if (alive.contains(one->first)) {
      ++one;
    } else {
      write_point(one->second, 0, 0);
      one = drawn_.erase(one);
    }
  }
}

/// Writes the numbers as text, which ignores the locale of the stream.
void trace::write_point(const curves& of, std::size_t in_use, std::size_t waiting) {
  const std::int64_t now = detail::read_event_clock();
  std::string text =
      ",\n"
      R"({"name":")" +
      of.name + R"(","cat":"lido","ph":"C","pid":)";
  text += std::to_string(detail::platform::process_id()) + R"(,"ts":)" + std::to_string(now / 1000);
  text += '.' + std::to_string(1000 + now % 1000).substr(1);
  text += R"(,"args":{"in_use":)" + std::to_string(in_use);
  text += of.has_waiting ? R"(,"waiting":)" + std::to_string(waiting) : "";
  out_ << text + "}}";
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): it belongs to the running trace
std::uint64_t trace::lost() const noexcept {
  // relaxed: a count
  return detail::lost.load(std::memory_order_relaxed);
}

}  // namespace lido::inline v0
