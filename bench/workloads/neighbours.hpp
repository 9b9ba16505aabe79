/// @file
/// `neighbours`: each thread builds its own list, walks it ten times and destroys it.
///
/// The walk is the point. It is slow if the nodes of two threads share cache lines, or change
/// processors from one list to the next.
#pragma once

#include <ctime>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "step.hpp"

namespace lido_bench {

/// Returns the processor time of the calling thread, in nanoseconds.
inline double thread_cpu_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

class neighbours {
 public:
  static constexpr std::string_view name{"neighbours"};
  static constexpr int walks{10};
  /// Lists have up to that many nodes more, so that they do not fit into one another's gaps.
  static constexpr std::size_t most_more{300};

  struct node {
    node* next;
    std::uint64_t value;
    std::byte rest[16];
  };

  neighbours(unsigned threads, std::size_t nodes)
      : nodes_{nodes}, all_built_{static_cast<std::ptrdiff_t>(threads)}, lines_(threads) {}

  /// One iteration is one list.
  template <typename Pool>
  void run(Pool& pool, lane& self) {
    typename Pool::session session{pool};
    for (const std::uint64_t iterations : self.phases()) {
      spent phase{};
      self.enter_phase();
      for (std::uint64_t i{0}; i < iterations; ++i) {
        node* const first{build<Pool>(session, self, nodes_ + i * 37 % most_more)};
        walk(first, phase);
        if (i + 1 == iterations) {
          note_lines(self.index(), first);
          all_built_.arrive_and_wait();
        }
        destroy(session, first);
      }
      add(phase);  // of the last phase, which is the timed one
    }
    self.stop();
  }

  /// Returns the time of a node in the timed phase, over all threads.
  [[nodiscard]] double nanoseconds_per_node() const { return total_.nanoseconds / total_.visits; }

  /// Returns the percentage of cache lines with nodes in which two threads have some.
  [[nodiscard]] double mixed_lines() const {
    std::vector<std::uintptr_t> all;
    for (const std::vector<std::uintptr_t>& lines : lines_) {
      all.insert(all.end(), lines.begin(), lines.end());
    }
    std::sort(all.begin(), all.end());
    std::size_t different{0};
    std::size_t mixed{0};
    for (auto line{all.begin()}; line != all.end();) {
      const auto end{std::upper_bound(line, all.end(), *line)};
      ++different;
      mixed += end - line > 1 ? 1 : 0;
      line = end;
    }
    return 100.0 * static_cast<double>(mixed) / static_cast<double>(different);
  }

 private:
  struct spent {
    double nanoseconds{0};
    double visits{0};
  };

  template <typename Pool, typename Session>
  static node* build(Session& session, lane& self, std::size_t length) {
    node* first{nullptr};
    node** end{&first};
    for (std::size_t i{0}; i < length; ++i) {
      auto* const added{static_cast<node*>(take<Pool>(session, self))};
      added->value = i;
      added->next = nullptr;
      *end = added;
      end = &added->next;
    }
    return first;
  }

  static void walk(node* first, spent& so_far) {
    const double begin{thread_cpu_nanoseconds()};
    std::uint64_t visits{0};
    for (int turn{0}; turn < walks; ++turn) {
      for (node* at{first}; at != nullptr; at = at->next) {
        ++at->value;
        ++visits;
      }
      benchmark::ClobberMemory();
    }
    so_far.nanoseconds += thread_cpu_nanoseconds() - begin;
    so_far.visits += static_cast<double>(visits);
  }

  template <typename Session>
  static void destroy(Session& session, node* first) {
    while (first != nullptr) {
      node* const next{first->next};
      give(session, first);
      first = next;
    }
  }

  void note_lines(unsigned index, const node* first) {
    std::vector<std::uintptr_t>& lines{lines_[index]};
    lines.clear();
    for (const node* at{first}; at != nullptr; at = at->next) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a line is an address
      lines.push_back(reinterpret_cast<std::uintptr_t>(at) / 64);
    }
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  }

  void add(const spent& phase) {
    const std::lock_guard lock{mutex_};
    pending_.nanoseconds += phase.nanoseconds;
    pending_.visits += phase.visits;
    if (++reported_ % lines_.size() == 0) {
      total_ = std::exchange(pending_, spent{});
    }
  }

  std::size_t nodes_;
  std::barrier<> all_built_;
  std::vector<std::vector<std::uintptr_t>> lines_;  ///< lines of each thread's last list
  std::mutex mutex_;                                // guards all below
  spent pending_;
  spent total_;
  std::size_t reported_{0};
};

}  // namespace lido_bench
