/// @file
/// Decides where an execution could go on in more than one way.
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

/// What is to be decided. Alternative 0 is always what a plain machine would do: the newest store,
/// no failure.
enum class question : std::uint8_t {
  read,     ///< which store a load returns, newest first
  write,    ///< behind how many later stores a store goes
  failure,  ///< whether a weak compare-and-swap, or the system, fails
  event,    ///< what else may come in either order
};

/// The threads that could run next.
struct candidates {
  std::span<const thread_id> threads;  ///< the one that runs now first, if it can go on
  bool can_stay;                       ///< whether threads[0] runs now
  bool free;                           ///< whether to leave it costs nothing: it waits anyway
  std::size_t step;                    ///< of the execution
};

/// One way to go through executions.
class chooser {
 public:
  chooser() = default;
  chooser(const chooser&) = delete;
  chooser& operator=(const chooser&) = delete;
  virtual ~chooser() = default;

  /// A new execution starts; false: there is none left.
  [[nodiscard]] virtual bool begin() = 0;
  /// One of `count` alternatives, count > 1, for what thread `who` does.
  [[nodiscard]] virtual unsigned choose(question asked, unsigned count, thread_id who) = 0;
  /// Index of one of the candidates, of which there are more than one.
  [[nodiscard]] virtual unsigned choose_thread(const candidates& among) = 0;
  /// At which step all threads but the running one stop for a while; 0: never.
  [[nodiscard]] virtual std::size_t step_of_solo() { return 0; }
  /// The execution took so many steps.
  virtual void ended(std::size_t /*steps*/) {}
};

/// How much an exhaustive search may do that a plain machine would not.
struct bounds {
  unsigned preemptions = 2;
  unsigned reorderings = 2;  ///< loads that return an older store, stores put behind later ones
  unsigned failures = 1;     ///< that may happen but need not
};

/// Every execution within `limits`, depth first.
[[nodiscard]] std::unique_ptr<chooser> depth_first(bounds limits);

/// Each choice by chance; how wild differs from one execution to the next.
[[nodiscard]] std::unique_ptr<chooser> by_chance(std::uint64_t seed, bool solo);

/// Burckhardt et al., A Randomized Scheduler with Probabilistic Guarantees (ASPLOS 2010): the
/// thread of the highest priority runs; at depth - 1 steps chosen by chance it falls to the bottom.
[[nodiscard]] std::unique_ptr<chooser> by_priority(std::uint64_t seed, unsigned depth);

/// One thread is interrupted, at steps of its own chosen by chance; then the others run, each until
/// it ends or waits, and none of them is interrupted. Finds what needs several whole operations of
/// others at exact places of one. `interrupted` 0: another thread in each execution.
[[nodiscard]] std::unique_ptr<chooser> by_interludes(std::uint64_t seed, unsigned interludes,
                                                     thread_id interrupted);

/// Which choices an execution made. Most are 0, so only the others are named: "17:2,40:1" says 2 at
/// choice 17 and 1 at choice 40. "s93;..." : from step 93 on one thread ran alone.
struct schedule {
  std::size_t solo = 0;
  std::vector<std::uint8_t> picks;

  [[nodiscard]] std::string text() const;
  /// Throws std::invalid_argument.
  [[nodiscard]] static schedule parse(std::string_view text);
};

/// The one execution with these choices; 0 where there are no more.
[[nodiscard]] std::unique_ptr<chooser> replay(schedule choices);

}  // namespace model
