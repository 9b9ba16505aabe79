/// @file
/// Public. Checks at the end of a test that a pool has lost nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "lido/base/pool_stats.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/debug/misuse.hpp"

namespace lido::inline v0::testing {

/// The result of a check: either success, or failure with a reason. Can be used in the assertions
/// of test frameworks: `EXPECT_TRUE(conserved(pool));`
class [[nodiscard]] verdict {
 public:
  /// Makes a success.
  verdict() = default;
  /// Makes a failure, unless `problem` is empty.
  explicit verdict(std::string problem) : problem_(std::move(problem)) {}

  /// Returns true if the check has found no problem.
  [[nodiscard]] explicit operator bool() const noexcept { return problem_.empty(); }
  /// Returns a description of the problem, or an empty string if there is none.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  /// Writes the problem, or "conserved".
  friend std::ostream& operator<<(std::ostream& out, const verdict& what) {
    return out << (what ? "conserved" : what.problem_);
  }

 private:
  std::string problem_;
};

}  // namespace lido::inline v0::testing

namespace lido::inline v0::detail {

[[nodiscard]] inline std::string numbers_of(const slot_pool_stats& stats) {
  return std::to_string(stats.in_use) + " in use, " + std::to_string(stats.cached) +
         " in caches, " + std::to_string(stats.idle - stats.cached) +
         " in the shared lists, capacity " + std::to_string(stats.capacity);
}

[[nodiscard]] inline bool add_up(const slot_pool_stats& stats) noexcept {
  return stats.in_use + stats.idle == stats.capacity;
}

/// Checks the objects in `all`. They were acquired from a pool that had `free` free slots. Returns
/// a description of the problem, or an empty string if there is none.
template <class Pool>
[[nodiscard]] std::string judge(const Pool& pool, std::vector<typename Pool::value_type*> all,
                                std::size_t free) {
  const std::size_t count = all.size();
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() != count) {
    return std::to_string(count - all.size()) + " slots were handed out twice";
  }
  const auto foreign =
      std::count_if(all.begin(), all.end(), [&](const auto* object) { return !pool.owns(object); });
  if (foreign > 0) {
    return std::to_string(foreign) + " objects are of another pool";
  }
  if (count != free) {
    return std::to_string(free) + " slots should be free, but " + std::to_string(count) +
           " can be acquired";
  }
  return {};
}

/// Acquires all free slots, checks them, and releases them, even if something throws.
template <class Pool, class... Args>
[[nodiscard]] std::string look_at_free(Pool& pool, const slot_pool_stats& before,
                                       const Args&... args) {
  const std::size_t free = before.capacity - before.in_use;
  // Acquires at most one slot more than should be free, so that the loop ends even if the pool has
  // too many slots. A pool that can grow would grow for that extra slot, so only the free slots are
  // acquired from such a pool.
  const std::size_t most = pool.max_capacity() > before.capacity ? free : free + 1;
  std::vector<typename Pool::value_type*> all;
  const scope_exit give_back([&]() noexcept {
    for (auto* const object : all) {
      pool.release(object);
    }
  });
  all.reserve(most);
  while (all.size() < most) {
    auto* const object = pool.try_acquire_ptr(args...);
    if (object == nullptr) {
      break;
    }
    all.push_back(object);
  }
  std::string problem = judge(pool, all, free);
  if (problem.empty() && pool.stats().capacity != before.capacity) {
    problem = "it grew although " + std::to_string(free) + " slots should be free";
  }
  return problem;
}

}  // namespace lido::inline v0::detail

namespace lido::inline v0::testing {

/// Checks that every slot of `pool` is either in use or free, exactly once. Acquires all free
/// slots, with objects constructed from `args`, checks them, and releases them. A pool that can
/// grow fails the check if it has to grow for that. Requires: no other thread is in a call to the
/// pool. Throws std::bad_alloc, and whatever T's constructor throws.
template <class Pool, class... Args>
verdict conserved(Pool& pool, const Args&... args) {
  const slot_pool_stats before = pool.stats();
  std::string problem = detail::look_at_free(pool, before, args...);
  const slot_pool_stats after = pool.stats();
  if (problem.empty() && !(detail::add_up(before) && detail::add_up(after))) {
    problem = "the numbers do not add up";
  }
  if (problem.empty() && after.in_use != before.in_use) {
    problem = "not all that was acquired could be released";
  }
  return problem.empty() ? verdict()
                         : verdict("pool '" + std::string(pool.name()) + "': " + problem +
                                   " (before: " + detail::numbers_of(before) +
                                   "; after: " + detail::numbers_of(after) + ")");
}

/// Finds objects that a scope has acquired but not released. If there are any, calls the misuse
/// handler at the end of the scope; by default, that handler ends the program. Works with any pool,
/// checked or not. Requires: no other thread is in a call to the pool when the scope begins or
/// ends.
template <class Pool>
class [[nodiscard]] leak_check {
 public:
  /// Begins the check of `pool`.
  explicit leak_check(const Pool& pool) noexcept : pool_(pool), before_(pool.stats().in_use) {}
  leak_check(const leak_check&) = delete;
  leak_check& operator=(const leak_check&) = delete;
  ~leak_check() {
    if (const std::size_t count = leaked(); count > 0) {
      const std::string text = "lido: pool '" + std::string(pool_.name()) +
                               "': " + std::to_string(count) +
                               " more objects are in use than when the leak check began\n";
      detail::hand_over({misuse_kind::leak, pool_.name(), nullptr, count, text});
    }
  }

  /// Returns how many more objects are in use than when the check began.
  [[nodiscard]] std::size_t leaked() const noexcept {
    const std::size_t now = pool_.stats().in_use;
    return now > before_ ? now - before_ : 0;
  }

  /// Restarts the check from the number of objects that are in use now.
  void reset() noexcept { before_ = pool_.stats().in_use; }

 private:
  const Pool& pool_;  // NOLINT(cppcoreguidelines-avoid-const-or-ref-data-members): a guard
  std::size_t before_;
};

}  // namespace lido::inline v0::testing
