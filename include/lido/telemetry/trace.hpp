/// @file
/// Public. `trace`: records the slow paths of all pools, with their times, for Perfetto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <set>

namespace lido::inline v0 {

/// Writes the refills, flushes, thefts, waits of threads, growths and creates of all pools while it
/// lives, in the Chrome trace format. Hits are not traced.
///
/// Each thread has a ring of its own, which stays for later traces. Recording is lock-free, except
/// at the end of a thread, and allocates only at a thread's first event. Names are truncated after
/// 31 bytes. Thread-safe. Not for the child of a fork.
class trace {
 public:
  /// Events that a thread can record between two calls of `drain`; further ones are lost.
  static constexpr std::size_t events_per_thread = 8192;

  /// Starts tracing. Requires: nothing else uses `out`. Throws std::logic_error if there is another
  /// trace, and what `out` throws.
  explicit trace(std::ostream& out);
  trace(const trace&) = delete;
  trace& operator=(const trace&) = delete;
  /// Writes the rest, and the number of lost events. Ignores what `out` throws.
  ~trace();

  /// Writes the events so far. Throws what `out` throws.
  void drain();
  [[nodiscard]] std::uint64_t lost() const noexcept;

 private:
  void write_events();

  std::ostream& out_;
  std::set<std::uint32_t> named_;  ///< threads whose names are written
};

}  // namespace lido::inline v0
