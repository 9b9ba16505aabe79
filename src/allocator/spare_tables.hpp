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

/// Stores a few tables, each in the state of a new table. Tables are reused because mapping,
/// touching and unmapping a table costs more than everything else in a pool that only one thread
/// uses.
///
/// Thread-safe. Never waits: `put` and `take` fail while another thread is in one of them. They
/// also fail in the child of a fork if another thread was in one of them during the fork. Whatever
/// happened before a `put` happens before the `take` that returns the same table. Lives as long as
/// the library is loaded.
class spare_tables {
 public:
  constexpr spare_tables() noexcept = default;

  /// Takes a table out of the store. Returns null if it could not get a table.
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
