// Implements the registry of checked pools and the registries of pools that users can visit. One
// mutex guards all of them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "../base/plain_text.hpp"
#include "../platform/platform.hpp"
#include "lido/base/address.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/debug/registry.hpp"
#include "lido/debug/slot_checks.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

namespace {

// Never destroyed, because pools may outlive every static object.
constinit platform::static_mutex pool_registry_mutex;
constinit registry named_pools;
constinit pool_trace* live_pools = nullptr;
constinit std::array<pool_trace, 64> ended_pools{};
constinit std::size_t next_ended_pool = 0;

/// Locks the mutex during each fork. If another thread held the mutex at that time, the child would
/// inherit a locked mutex, but not the thread that unlocks it.
LIDO_RUN_AT_LOAD(1001, lock_registry_for_forks);
void lock_registry_for_forks() noexcept {
  (void)platform::on_fork([] { pool_registry_mutex.lock(); }, [] { pool_registry_mutex.unlock(); },
                          [] { pool_registry_mutex.unlock(); });
}

[[nodiscard]] std::unique_lock<platform::static_mutex> lock_registry() noexcept {
  require_own_process();
  return std::unique_lock(pool_registry_mutex);
}

[[nodiscard]] bool contains(const pool_trace& one, const void* address) noexcept {
  return address_bits(address) - address_bits(one.first) < one.stride * one.capacity;
}

template <class Condition>
[[nodiscard]] pool_trace find_pool(const Condition& is_wanted) noexcept {
  const std::unique_lock lock = lock_registry();
  for (const pool_trace* pool = live_pools; pool != nullptr; pool = pool->next) {
    if (is_wanted(*pool)) {
      return *pool;
    }
  }
  for (const pool_trace& pool : ended_pools) {
    if (is_wanted(pool)) {
      return pool;
    }
  }
  return {};
}

}  // namespace

void register_checked(pool_trace& pool) noexcept {
  const std::unique_lock lock = lock_registry();
  pool.alive = true;
  pool.next = live_pools;
  live_pools = &pool;
  // Forgets destroyed pools at the same addresses, because a pointer to one of their slots cannot
  // be distinguished from a pointer to a slot of the new pool.
  for (pool_trace& one : ended_pools) {
    if (one.pool == pool.pool || contains(one, pool.first) || contains(pool, one.first)) {
      one = {};
    }
  }
}

void unregister_checked(pool_trace& pool) noexcept {
  const std::unique_lock lock = lock_registry();
  pool_trace** link = &live_pools;
  while (*link != &pool) {
    link = &(*link)->next;
  }
  *link = pool.next;
  pool.alive = false;
  ended_pools.at(next_ended_pool++ % ended_pools.size()) = pool;
}

pool_trace find_checked(const void* pool) noexcept {
  return find_pool([pool](const pool_trace& one) { return one.pool == pool; });
}

pool_trace find_owner(const void* object) noexcept {
  return find_pool([object](const pool_trace& one) { return contains(one, object); });
}

registration::registration(registry& where, std::string_view kind, std::string_view name,
                           describe fill, void* pool) noexcept
    : where_(where), kind_(kind), name_(name), fill_(fill), pool_(pool) {
  const std::unique_lock lock = lock_registry();
  // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): assigned under the mutex
  number_ = ++where_.numbers_;
  older_ = std::exchange(where_.newest_, this);
  (older_ != nullptr ? older_->newer_ : where_.oldest_) = this;
}

registration::~registration() {
  const std::unique_lock lock = lock_registry();
  (older_ != nullptr ? older_->newer_ : where_.oldest_) = newer_;
  (newer_ != nullptr ? newer_->older_ : where_.newest_) = older_;
  ++where_.left_;
}

}  // namespace lido::inline v0::detail

namespace lido::inline v0 {

registry& registry::global() noexcept {
  return detail::named_pools;
}

const detail::registration* registry::after(const position& at, std::uint64_t number) const {
  if (at.last != nullptr && at.left == left_) {
    return at.last->newer_;
  }
  const detail::registration* one = oldest_;
  while (one != nullptr && one->number_ <= number) {
    one = one->newer_;
  }
  return one;
}

bool registry::next(position& at, pool_report& report) const {
  const std::unique_lock lock = detail::lock_registry();
  const detail::registration* const found = after(at, report.number);
  at = {.last = found, .left = left_};
  if (found != nullptr) {
    const std::size_t size = found->name_.size();
    const std::shared_ptr<char[]> text(new char[size]);  // NOLINT(*-avoid-c-arrays)
    report.name = {text.get(), detail::copy_plain(found->name_, {text.get(), size})};
    report.text = text;
    report.number = found->number_;
    report.kind = found->kind_;
    report.slot_stats.reset();
    report.resources = nullptr;
    found->fill_(found->pool_, report);
  }
  return found != nullptr;
}

}  // namespace lido::inline v0
