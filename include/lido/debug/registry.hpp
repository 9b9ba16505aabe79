/// @file
/// Public. `registry`: lists the pools of a process by name, with their statistics.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "lido/base/pool_stats.hpp"

namespace lido::inline v0 {

struct resource_pool_report;

namespace detail {
class registration;
}  // namespace detail

/// A report on one pool. A visit creates one for each pool.
struct pool_report {
  /// Name in UTF-8. A `?` replaces each quote, backslash, ASCII control character, and byte that is
  /// not UTF-8.
  std::string_view name;
  std::uint64_t number = 0;  ///< unique in its registry; distinguishes pools of the same name
  std::string_view kind;     ///< "object_pool", "concurrent_slot_map", ...
  /// Statistics that every pool has.
  pool_stats stats;
  std::optional<slot_pool_stats> slot_stats;              ///< empty for a pool of resources
  std::shared_ptr<const resource_pool_report> resources;  ///< null except for a pool of resources
  std::shared_ptr<const char[]> text;                     ///< owns the characters of `name`
};

namespace detail {

/// Returns true if callers can wait in a pool of this kind. In other kinds, `waiting` and
/// `handed_over` are always 0.
[[nodiscard]] inline bool can_wait(const pool_report& report) noexcept {
  return report.kind != "block_resource" && report.kind != "concurrent_slot_map";
}

}  // namespace detail

/// Lists the live pools whose option `registry` names this registry.
///
/// Thread-safe. A pool is registered last in its constructor and removed first in its destructor,
/// which waits while a visit reads the pool's statistics. Requires: the registry outlives its
/// pools. The child process of a fork may use the registry.
class registry {
 public:
  constexpr registry() noexcept = default;
  registry(const registry&) = delete;
  registry& operator=(const registry&) = delete;
  ~registry() = default;

  /// Returns the registry of the process, which is never destroyed.
  [[nodiscard]] static registry& global() noexcept;

  /// Calls `f(const pool_report&)` for each pool, oldest first. No lock is held during these calls,
  /// so `f` may create and destroy pools. A pool that is created or destroyed during the visit may
  /// or may not be visited. Throws whatever `f` throws, and std::bad_alloc.
  template <class F>
  void visit(F f) const {
    pool_report report;
    for (position at; next(at, report);) {
      f(static_cast<const pool_report&>(report));
    }
  }

 private:
  friend class detail::registration;

  /// Stores how far a visit has progressed. Between two steps of the visit, any pool may be
  /// removed, even the one that was visited last, and pools may be added.
  struct position {
    /// The entry of the pool that was visited last. It may dangle if a pool was removed after that.
    const detail::registration* last = nullptr;
    std::uint64_t left = 0;
  };

  /// Advances to the pool that was registered next, and reports it; returns false if there is none.
  /// Takes constant time, unless a pool was removed since the last step.
  [[nodiscard]] bool next(position& at, pool_report& report) const;
  [[nodiscard]] const detail::registration* after(const position& at, std::uint64_t number) const;

  detail::registration* oldest_ = nullptr;
  detail::registration* newest_ = nullptr;
  std::uint64_t numbers_ = 0;
  std::uint64_t left_ = 0;  ///< number of pools removed so far
};

namespace detail {

/// The entry of a pool in its registry. The pool's destructor destroys the entry before anything
/// else.
class registration {
 public:
  /// Fills in the statistics of `pool`. Called while a mutex of the process is held.
  using describe = void (*)(void* pool, pool_report& out);

  /// Registers `pool`. `kind` and `name` must live as long as the entry.
  registration(registry& where, std::string_view kind, std::string_view name, describe fill,
               void* pool) noexcept;
  /// Registers a pool of slots. The pool's `stats()` must return its statistics.
  template <class Pool>
  registration(registry& where, std::string_view kind, std::string_view name, Pool& pool) noexcept
      : registration(
            where, kind, name,
            [](void* one, pool_report& out) {
              out.slot_stats = static_cast<Pool*>(one)->stats();
              out.stats = static_cast<const pool_stats&>(*out.slot_stats);
            },
            &pool) {}
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;
  ~registration();

 private:
  friend class lido::registry;

  registry& where_;
  std::string_view kind_;
  std::string_view name_;
  describe fill_;
  void* pool_;
  std::uint64_t number_ = 0;
  registration* older_ = nullptr;
  registration* newer_ = nullptr;
};

}  // namespace detail
}  // namespace lido::inline v0
