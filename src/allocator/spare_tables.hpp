/// @file
/// Internal. Tables of caches that destroyed pools leave for new pools.
#pragma once

#include <array>
#include <cstddef>

#include "../platform/platform.hpp"
#include "lido/base/tuning.hpp"
#include "lido/concurrency/mutex.hpp"

namespace lido::inline v0::detail {

#ifdef LIDO_MUTEX_SEAM
using spare_tables_mutex = plain_mutex;
#else
using spare_tables_mutex = platform::static_mutex;
#endif

/// Stores a few tables, each in the state of a new table. Mapping, touching and unmapping a table
/// costs more than everything else in a pool that only one thread uses.
///
/// Thread-safe. Never waits: `put` and `take` fail while another thread is inside. They also fail
/// in the child of a fork during which another thread was inside. Whatever happened before a `put`
/// happens before the `take` that returns the same table. Lives as long as the library is loaded.
class spare_tables {
 public:
  constexpr spare_tables() noexcept = default;

  /// Takes out a table. Returns null if it gets none.
  [[nodiscard]] std::byte* take() noexcept;

  /// Stores a table. Returns false if the caller must keep the table. Requires: the table is in the
  /// state of a new table.
  [[nodiscard]] bool put(std::byte* table) noexcept;

  /// Unmaps all tables.
  void drop() noexcept;

 private:
  spare_tables_mutex mutex_;
  std::array<std::byte*, tuning::most_spare_tables> tables_{};
  std::size_t count_ = 0;
};

extern constinit spare_tables spares;

}  // namespace lido::inline v0::detail
