/// @file
/// Public. `registry`: the pools of a process by name, and what they do.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "lido/base/pool_stats.hpp"

namespace lido::inline v0 {

struct resource_pool_report;

namespace detail {
class registration;
}  // namespace detail

/// What a visit says of one pool.
struct pool_report {
  /// Name in UTF-8. A `?` stands for each quote, backslash, control character of ASCII, and byte
  /// that is no UTF-8.
  std::string_view name;
  std::uint64_t number = 0;  ///< in its registry, never used again; tells pools of one name apart
  std::string_view kind;     ///< "object_pool", "concurrent_slot_map", ...
  pool_stats stats;
  std::shared_ptr<const resource_pool_report> resources;  ///< null: no pool of resources
  std::shared_ptr<const char[]> text;                     ///< of the name
};

/// Pools that were given it as the option `registry`, for as long as they live.
///
/// Thread-safe. A pool enters as the last act of its constructor and leaves as the first of its
/// destructor, which waits while a visit reads its numbers. Requires of a registry: it outlives its
/// pools. The child of a fork may use it.
class registry {
 public:
  constexpr registry() noexcept = default;
  registry(const registry&) = delete;
  registry& operator=(const registry&) = delete;
  ~registry() = default;

  /// The one of the process, which never ends.
  [[nodiscard]] static registry& global() noexcept;

  /// Calls `f(const pool_report&)` for each pool, oldest first, without a lock: `f` may make and
  /// end pools. One that comes or goes meanwhile is visited or not. Throws what `f` does, and
  /// std::bad_alloc.
  template <class F>
  void visit(F f) const {
    pool_report report;
    for (position at; next(at, report);) {
      f(static_cast<const pool_report&>(report));
    }
  }

 private:
  friend class detail::registration;

  /// How far a visit has come. Between two steps the pool there may leave, and others come.
  struct position {
    const detail::registration* last = nullptr;  ///< good as long as none has left since
    std::uint64_t left = 0;
  };

  /// Goes on to the pool that entered next, and reports it; false: there is none. Constant time,
  /// unless a pool has left since the last step.
  [[nodiscard]] bool next(position& at, pool_report& report) const;
  [[nodiscard]] const detail::registration* after(const position& at, std::uint64_t number) const;

  detail::registration* oldest_ = nullptr;
  detail::registration* newest_ = nullptr;
  std::uint64_t numbers_ = 0;
  std::uint64_t left_ = 0;  ///< pools that have left
};

namespace detail {

/// A pool in its registry. The pool destroys it before anything else.
class registration {
 public:
  /// Fills in the numbers of `pool`. Called under a mutex of the process.
  using describe = void (*)(void* pool, pool_report& out);

  /// `kind` must live as long. Throws std::bad_alloc.
  registration(registry& where, std::string_view kind, std::string_view name, describe fill,
               void* pool);
  /// `pool.stats()` has its numbers.
  template <class Pool>
  registration(registry& where, std::string_view kind, std::string_view name, Pool& pool)
      : registration(
            where, kind, name,
            [](void* one, pool_report& out) { out.stats = static_cast<Pool*>(one)->stats(); },
            &pool) {}
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;
  ~registration();

 private:
  friend class lido::registry;

  registry& where_;
  std::string_view kind_;
  std::unique_ptr<const char[]> text_;  ///< of the name
  std::string_view name_;
  describe fill_;
  void* pool_;
  std::uint64_t number_ = 0;
  registration* older_ = nullptr;
  registration* newer_ = nullptr;
};

}  // namespace detail
}  // namespace lido::inline v0
