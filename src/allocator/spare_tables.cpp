#include "spare_tables.hpp"

#include <mutex>

#include "../platform/platform.hpp"
#include "allocator_state.hpp"
#include "lido/base/assert.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

constinit spare_tables spares;

std::byte* spare_tables::take() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock() && count_ != 0 ? tables_[--count_] : nullptr;
}

bool spare_tables::put(std::byte* table) noexcept {
  LIDO_ASSERT(table != nullptr, "no table is put among the spare ones");
  const std::unique_lock lock(mutex_, std::try_to_lock);
  const bool has_room = lock.owns_lock() && count_ != tables_.size();
  if (has_room) {
    tables_[count_++] = table;
  }
  return has_room;
}

void spare_tables::drop() noexcept {
  while (std::byte* const table = take()) {
    platform::unmap_zeros(table, cache_table_bytes);
  }
}

namespace {

/// Unmaps all tables when a program unloads the library.
LIDO_RUN_AT_UNLOAD(drop_spare_tables);
void drop_spare_tables() noexcept {
  spares.drop();
}

}  // namespace

}  // namespace lido::inline v0::detail
