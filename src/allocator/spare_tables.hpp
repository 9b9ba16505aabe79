/// @file
/// Internal. Tables of caches from destroyed pools, for new pools.
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

/// Stores a few tables, each as if new. Mapping a table, touching and unmapping it costs more than
/// all else in a pool that one thread uses.
///
/// Thread-safe. Never waits: beside another thread, and in the child of a fork while another thread
/// was inside, `put` and `take` fail. What happened before `put` happens before the `take` that
/// returns the table. Lives as long as the library is loaded.
class spare_tables {
 public:
  constexpr spare_tables() noexcept = default;

  /// Takes a table out. Returns null if there is none.
  [[nodiscard]] std::byte* take() noexcept;

  /// Puts a table in. Returns false if it stays the caller's. Requires: it is as if new.
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
