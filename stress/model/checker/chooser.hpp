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
  write,    ///< behind how many later stores a store goes
  failure,  ///< whether a weak compare-and-swap, or the system, fails
  event,    ///< which of several events comes first
};

/// The threads that could run next.
struct candidates {
  std::span<const thread_id> threads;  ///< the running one first, if it can continue
  bool can_stay;                       ///< whether threads[0] runs now
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

  /// Starts a new execution; returns false if there is none left.
  [[nodiscard]] virtual bool begin() = 0;
  /// Returns one of `count` alternatives, count > 1, for what thread `who` does.
  [[nodiscard]] virtual unsigned choose(question asked, unsigned count, thread_id who) = 0;
  /// Returns the index of one of the candidates, of which there is more than one.
  [[nodiscard]] virtual unsigned choose_thread(const candidates& among) = 0;
  /// Returns the step at which all threads but the running one stop for a while; 0: never.
  [[nodiscard]] virtual std::size_t step_of_solo() { return 0; }
  /// Notes how many steps the execution took.
  virtual void ended(std::size_t /*steps*/) {}
};

/// Bounds on what an exhaustive search may do that a plain machine would not.
struct bounds {
  unsigned preemptions = 2;
  unsigned reorderings = 2;  ///< loads that return an older store, stores put behind later ones
  unsigned failures = 1;     ///< failures that may happen but need not
};

/// Returns a chooser that tries every execution within `limits`, depth first.
[[nodiscard]] std::unique_ptr<chooser> depth_first(bounds limits);

/// Returns a chooser that decides at random; how wildly differs between executions.
[[nodiscard]] std::unique_ptr<chooser> by_chance(std::uint64_t seed, bool solo);

/// Returns a chooser after Burckhardt et al., A Randomized Scheduler with Probabilistic Guarantees
/// (ASPLOS 2010). The thread of the highest priority runs; at depth - 1 random steps it falls to
/// the lowest.
[[nodiscard]] std::unique_ptr<chooser> by_priority(std::uint64_t seed, unsigned depth);

/// Returns a chooser that interrupts one thread at random steps of its own; then the others run,
/// each until it ends or waits, and none of them is interrupted. Finds what needs several whole
/// operations of others at exact points of one. `interrupted` 0: another thread in each execution.
[[nodiscard]] std::unique_ptr<chooser> by_interludes(std::uint64_t seed, unsigned interludes,
                                                     thread_id interrupted);

/// The choices an execution made. Most are 0, so only the others are named: "17:2,40:1" means 2 at
/// choice 17 and 1 at choice 40. "s93;..." : from step 93 on one thread ran alone.
struct schedule {
  std::size_t solo = 0;
  std::vector<std::uint8_t> picks;

  [[nodiscard]] std::string text() const;
  /// Parses the text form. Throws std::invalid_argument.
  [[nodiscard]] static schedule parse(std::string_view text);
};

/// Returns a chooser that repeats these choices, and takes 0 after the last one.
[[nodiscard]] std::unique_ptr<chooser> replay(schedule choices);

}  // namespace model
