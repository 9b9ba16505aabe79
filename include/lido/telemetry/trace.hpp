/// @file
/// Public. `trace`: records the slow paths of all pools, with their times, for Perfetto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <set>

namespace lido::inline v0 {

/// Writes the refills, flushes, thefts, thread waits, growths and creates of all pools in the
/// Chrome trace format, as long as the trace lives. Hits are not traced.
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

  /// Starts tracing. Requires: nothing else uses `out`. Throws std::logic_error if another trace
  /// exists, and whatever `out` throws.
  explicit trace(std::ostream& out);
  trace(const trace&) = delete;
  trace& operator=(const trace&) = delete;
  /// Writes the remaining events and the number of lost events. Ignores whatever `out` throws.
  ~trace();

  /// Writes the events recorded so far. Throws whatever `out` throws.
  void drain();
  [[nodiscard]] std::uint64_t lost() const noexcept;

 private:
  void write_events();

  std::ostream& out_;
  std::set<std::uint32_t> named_;  ///< threads whose names have been written
};

}  // namespace lido::inline v0
