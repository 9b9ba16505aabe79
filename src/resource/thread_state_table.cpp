// Tables of thread states, each shared by several pools.
#include "thread_state_table.hpp"

#include <memory>
#include <mutex>
#include <new>

#include "../platform/platform.hpp"
#include "lido/concurrency/zeroed_array.hpp"

namespace lido::inline v0::detail {

/// A table with a row for each thread and a column for each pool. Each column is lent to a pool
/// only once, so it is all zeros at first. The table is destroyed with the last pool that has a
/// column.
class thread_state_table {
 public:
  thread_state_table() : states_(thread_states * pools_side_by_side, growth::none) {}

  // The functions below require that the mutex of the process is held.
  [[nodiscard]] bool has_room() const noexcept { return lent_ < pools_side_by_side; }
  [[nodiscard]] thread_state& lend() noexcept {
    ++pools_;
    return states_[lent_++];
  }
  /// Takes back a column. Returns true if no pool has a column any more.
  [[nodiscard]] bool take_back() noexcept { return --pools_ == 0; }

 private:
  zeroed_array<thread_state> states_;
  std::size_t lent_ = 0;
  std::size_t pools_ = 0;
};

namespace {

/// The tables of the process. Never destroyed, since pools may outlive every static object.
struct process_tables {
  platform::static_mutex mutex;
  thread_state_table* now =
      nullptr;  ///< the table that lends the next column, unless it is full; or null
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): one per process
constinit process_tables tables;

}  // namespace

thread_state_column::thread_state_column() {
  const auto borrow = [this](std::unique_ptr<thread_state_table> made) {
    const std::lock_guard guard(tables.mutex);
    const bool has_room = tables.now != nullptr && tables.now->has_room();
    if (has_room || made != nullptr) {
      table_ = has_room ? tables.now : made.release();
      tables.now = table_;
      first_ = &table_->lend();
    }
    return table_ != nullptr;
  };
  if (!borrow(nullptr)) {
    (void)borrow(std::make_unique<thread_state_table>());  // allocated with the mutex unlocked
  }
}

thread_state_column::~thread_state_column() {
  {
    const std::lock_guard guard(tables.mutex);
    if (!table_->take_back()) {
      return;
    }
    if (tables.now == table_) {
      tables.now = nullptr;
    }
  }
  delete table_;  // NOLINT(cppcoreguidelines-owning-memory): no pool uses it
}

void thread_state_column::note_fork() noexcept {
  ::new (&tables) process_tables();
}

}  // namespace lido::inline v0::detail
