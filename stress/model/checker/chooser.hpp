/// @file
/// Decides at points where an execution could continue in more than one way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checker/memory.hpp"

namespace model {

/// A question to decide. Alternative 0 is always what a plain machine would do: the newest store,
/// no failure.
enum class question : std::uint8_t {
  read,     ///< which store a load returns, newest first
  write,    ///< how many existing stores come after a new store
  failure,  ///< whether a weak compare-and-swap, or the system, fails
  event,    ///< which of several events comes first
};

/// The threads that could run next.
struct candidates {
  std::span<const thread_id> threads;  ///< the running thread first, if it can continue
  bool can_stay;                       ///< whether threads[0] is running now
  bool free;         ///< whether switching costs nothing, because the thread waits anyway
  std::size_t step;  ///< index of the step in the execution
};

/// One way to explore executions.
class chooser {
 public:
  chooser() = default;
  chooser(const chooser&) = delete;
  chooser& operator=(const chooser&) = delete;
  virtual ~chooser() = default;

  /// Starts a new execution; returns false if none is left.
  [[nodiscard]] virtual bool begin() = 0;
  /// Returns one of `count` alternatives for what thread `who` does. Requires: count > 1.
  [[nodiscard]] virtual unsigned choose(question asked, unsigned count, thread_id who) = 0;
  /// Returns the index of one of the candidates. Requires: there is more than one.
  [[nodiscard]] virtual unsigned choose_thread(const candidates& among) = 0;
  /// Returns the step at which all threads but the running one stop for a while, or 0 for never.
  [[nodiscard]] virtual std::size_t step_of_solo() { return 0; }
  /// Notes how many steps the execution took.
  virtual void ended(std::size_t /*steps*/) {}
};

/// Bounds on how far an exhaustive search may deviate from a plain machine.
struct bounds {
  unsigned preemptions = 2;
  unsigned reorderings = 2;  ///< loads that return an older store, stores before existing ones
  unsigned failures = 1;     ///< failures that may happen but need not
};

/// Returns a chooser that tries every execution within `limits`, depth first.
[[nodiscard]] std::unique_ptr<chooser> depth_first(bounds limits);

/// Returns a chooser that decides at random. Its bias differs between executions.
[[nodiscard]] std::unique_ptr<chooser> by_chance(std::uint64_t seed, bool solo);

/// Returns a chooser after Burckhardt et al., A Randomized Scheduler with Probabilistic Guarantees
/// (ASPLOS 2010). The thread with the highest priority runs. At depth - 1 random steps, the running
/// thread falls to the lowest priority.
[[nodiscard]] std::unique_ptr<chooser> by_priority(std::uint64_t seed, unsigned depth);

/// Returns a chooser that interrupts one thread at random steps of that thread. The other threads
/// then run, each until it ends or waits, without interruption. Finds errors that need several
/// whole operations of other threads at exact points of one operation. If `interrupted` is 0, each
/// execution interrupts a thread chosen at random.
[[nodiscard]] std::unique_ptr<chooser> by_interludes(std::uint64_t seed, unsigned interludes,
                                                     thread_id interrupted);

/// The choices that an execution made. Most are 0, so the text names only the others. "17:2,40:1"
/// means 2 at choice 17 and 1 at choice 40. "s93;..." means that one thread ran alone from step 93
/// on.
struct schedule {
  std::size_t solo = 0;
  std::vector<std::uint8_t> picks;

  [[nodiscard]] std::string text() const;
  /// Parses the text form. Throws std::invalid_argument.
  [[nodiscard]] static schedule parse(std::string_view text);
};

/// Returns a chooser that repeats `choices`, and chooses 0 after the last of them.
[[nodiscard]] std::unique_ptr<chooser> replay(schedule choices);

}  // namespace model
