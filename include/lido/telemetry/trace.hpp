/// @file
/// Public. `trace`: records the slow paths of all pools, and draws how many slots and resources are
/// in use, for Perfetto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <set>
#include <string>

namespace lido::inline v0 {

class registry;

/// Writes the refills, flushes, thefts, thread waits, growths and creates of all pools in the
/// Chrome trace format, as long as the trace lives. Hits are not traced.
///
/// Also draws a curve of `in_use` for each pool in a registry, and a curve of `waiting` for each
/// such pool in which callers can wait. The constructor, each `drain` and the destructor add one
/// point to each curve; nothing is measured between them. A curve is named like its pool, followed
/// by `#` and the pool's number in the registry, and drops to 0 when the pool is destroyed.
///
/// Each thread has its own ring of events, and the ring is kept for later traces. Recording is
/// lock-free, except at the end of a thread. It allocates memory only at a thread's first event.
/// Names are truncated after 31 bytes. Thread-safe. Must not be used in the child process of a
/// fork.
class trace {
 public:
  /// Number of events that a thread can record between two calls of `drain`; further events are
  /// lost.
  static constexpr std::size_t events_per_thread = 8192;

  /// Starts tracing, with curves of the pools in `registry::global()`. Requires: nothing else uses
  /// `out`. Throws std::logic_error if another trace exists. Also throws std::bad_alloc, and
  /// whatever `out` throws.
  explicit trace(std::ostream& out);
  /// Starts tracing as above, with curves of the pools in `pools`. Requires: `pools` outlives the
  /// trace.
  trace(std::ostream& out, const registry& pools);
  trace(const trace&) = delete;
  trace& operator=(const trace&) = delete;
  /// Writes the remaining events and the number of lost events. Ignores whatever `out` throws.
  ~trace();

  /// Writes the events recorded so far, and adds a point to each curve. Throws std::bad_alloc, and
  /// whatever `out` throws. If it throws, the entry being written is incomplete if `out` accepted a
  /// part of it. The next `drain` writes that event and all later ones, and no event twice. Curves
  /// may lack their points of this call, and still drop to 0 when their pools are destroyed.
  void drain();
  /// Returns the number of events that were lost because a thread had recorded too many.
  [[nodiscard]] std::uint64_t lost() const noexcept;

 private:
  /// The curves of one pool.
  struct curves {
    std::string name;
    bool has_waiting = false;
  };

  void write_events();
  void write_points();
  void write_point(const curves& of, std::size_t in_use, std::size_t waiting);

  std::ostream& out_;
  const registry& pools_;
  std::set<std::uint32_t> named_;          ///< threads whose names have been written
  std::map<std::uint64_t, curves> drawn_;  ///< curves that have not ended, by pool number
};

}  // namespace lido::inline v0
