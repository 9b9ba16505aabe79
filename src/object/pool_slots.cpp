#include "lido/object/pool_slots.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../allocator/slot_waiter_queue.hpp"
#include "../debug/report_text.hpp"
#include "../platform/platform.hpp"
#include "lido/base/assert.hpp"
#include "lido/base/error.hpp"
#include "lido/base/fail.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/debug/misuse.hpp"
#include "lido/debug/registry.hpp"
#include "lido/freelist/index_list.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

namespace {

/// Limit of the caches of a warm pool. Even a new cache has room for this many slots, so that the
/// cache never grows.
constexpr std::size_t most_cached_when_warm = 64;

void check_growing(const object_pool_options& options, const slot_layout& layout) {
  check_option(options.name, "max_capacity", options.max_capacity, 1, max_capacity);
  if (layout.record_bytes != 0) {
    throw_invalid_option(options.name,
                         "when_full::grow does not go with Traits::checked, which has a record of "
                         "every slot from the start");
  }
  if (options.list != nullptr && !options.list->can_grow()) {
    throw_invalid_option(options.name, "list is one that cannot grow");
  }
}

void check_fixed(const object_pool_options& options) {
  check_option(options.name, "capacity", options.capacity, 1, max_capacity);
  if (options.max_capacity != 0) {
    throw_invalid_option(options.name, "max_capacity is for when_full::grow");
  }
}

/// Throws if an option is wrong, before any memory is requested.
void check(const object_pool_options& options, const slot_layout& layout) {
  if (options.when_full == when_full::grow) {
    check_growing(options, layout);
  } else {
    check_fixed(options);
  }
  check_option(options.name, "max_cached", options.max_cached, 0, slot_cache::most_items);
  if (options.creation == creation::eager && !layout.keeps) {
    throw_invalid_option(options.name, "creation is eager, but the pool keeps no objects");
  }
}

/// Returns the maximum number of slots of the pool. Requires: the options are valid.
std::uint32_t most_slots(const object_pool_options& options) noexcept {
  const bool grows = options.when_full == when_full::grow;
  return static_cast<std::uint32_t>(grows ? options.max_capacity : options.capacity);
}

/// Returns the maximum number of slots of the pool. Throws the exceptions that the constructor of
/// the pool documents.
std::uint32_t checked_most_slots(const object_pool_options& options, const slot_layout& layout) {
  check(options, layout);
  const std::uint32_t most = most_slots(options);
  if (most > PTRDIFF_MAX / layout.size) {
    throw_bad_array_length();
  }
  check_option(options.name, "capacity", options.capacity, 0, most);
  return most;
}

allocator_options to_allocator(const object_pool_options& options, std::uint32_t capacity,
                               slot_memory& memory) {
  const std::size_t most = options.warm ? most_cached_when_warm : slot_cache::most_items;
  return {.geometry = memory.geometry(),
          .capacity = capacity,
          .caches = options.caches,
          .max_cached = static_cast<std::uint32_t>((std::min)(options.max_cached, most)),
          .may_wait = options.when_full == when_full::wait,
          .list = options.list,
          .segments = options.when_full == when_full::grow ? &memory : nullptr,
          .name = options.name};
}

/// The number of forks that led to this process. In a pool that was created before the last fork,
/// objects that other threads of the parent held stay in use. Such a pool therefore reports no
/// leaks.
constinit std::uint32_t forks = 0;
LIDO_RUN_AT_LOAD(1001, watch_forks);
void watch_forks() noexcept {
  (void)platform::on_fork(nullptr, nullptr, [] { ++forks; });
}

/// Prints a message and aborts the program. Called if the pool is being destroyed while threads
/// wait for it.
[[noreturn]] void end_for_waiters(std::string_view name, std::size_t waiting) noexcept {
  (void)std::fprintf(stderr, "lido: pool '%.*s' ends while %zu threads wait for it\n",
                     static_cast<int>(name.size()), name.data(), waiting);
  std::abort();
}

/// Reports a leak to the misuse handler if objects are in use.
void report_leak(const pool_stats& now, std::string_view name) noexcept {
  if (now.in_use == 0) {
    return;
  }
  report_text text;
  text << "lido: pool '" << name << "' ends with " << now.in_use << " of " << now.capacity
       << " objects in use\n";
  hand_over({misuse_kind::leak, name, nullptr, now.in_use, text.view()});
}

}  // namespace

pool_slots::pool_slots(const object_pool_options& options, const slot_layout& layout)
    : max_capacity_(checked_most_slots(options, layout)),
      memory_(layout, max_capacity_, options.when_full == when_full::grow),
      when_full_(options.when_full),
      forks_(forks),
      record_bytes_(layout.record_bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-union-access): its lifetime begins here
  std::construct_at(&allocator_, to_allocator(options, max_capacity_, memory_));
  name_ = allocator().name();
}

pool_slots::~pool_slots() {
  std::destroy_at(&allocator());
}

void pool_slots::begin(const object_pool_options& options, object_keeper* keeper) {
  keeper_ = keeper;
  memory_.use(keeper);
  memory_.close();
  if (grows()) {
    add(static_cast<std::uint32_t>(options.capacity));
  }
  if (options.warm) {
    memory_.touch();
    if (!allocator().prepare()) {
      throw_bad_alloc();
    }
  }
  eager_ = options.creation == creation::eager;
  LIDO_ASSERT(!eager_ || keeper_ != nullptr, "objects are made ahead in a pool that keeps none");
  for (slot_index slot = 0; eager_ && slot < capacity(); ++slot) {
    keeper_->create_in(memory_, slot);
  }
  if (options.registry != nullptr) {
    entry_ = new registration(*options.registry, "object_pool", name_, *this);
  }
}

// NOLINTNEXTLINE(readability-function-size): a loop over slots within a loop over batches
void pool_slots::end(bool reports_leak) noexcept {
  delete std::exchange(entry_, nullptr);
  if (const std::size_t count = allocator().count_waiting(); count != 0) {
    end_for_waiters(name_, count);
  }
  if (reports_leak && forks_ == forks) {
    report_leak(stats(), name_);
  }
  // Only a slot that was taken out of the free list is certain not to be in use by any thread.
  std::array<void*, 64> taken;
  const slot_geometry slots = memory_.geometry();
  while (const std::size_t count =
             keeper_ != nullptr ? allocator().acquire_n_without_growth(taken) : 0) {
    for (void* const slot : std::span(taken).first(count)) {
      if (const slot_index index = slots.index_of(slot); memory_.has_object(index)) {
        keeper_->destroy_in(memory_, index);
      }
    }
  }
  memory_.open();
}

void* pool_slots::acquire_blocking() {
  if (when_full_ == when_full::wait) {
    return wait_for_slot(deadline());
  }
  const int error = grows() ? allocator().growth_error() : 0;
  if (error != 0 && capacity() < max_capacity_) {
    fail_to_grow(error);
  }
  throw_pool_exhausted(name_, capacity(), stats().in_use);
}

void* pool_slots::wait_for_slot(const deadline& until) {
  slot_waiter me;
  return until.passed() ? nullptr : allocator().wait_for_slot(me, until);
}

#if defined(__cpp_lib_jthread)
void* pool_slots::wait_for_slot(const std::stop_token& stop) {
  if (stop.stop_requested()) {
    return nullptr;
  }
  slot_waiter me;
  const std::stop_callback end_wait(stop, [&me]() noexcept { me.cancel(); });
  return allocator().wait_for_slot(me, deadline());
}
#endif

void pool_slots::reserve(std::size_t count) {
  check_option(name_, "reserve of", count, 0, max_capacity_);
  if (grows()) {
    add(static_cast<std::uint32_t>(count));
  }
}

void pool_slots::add(std::uint32_t count) {
  if (const int error = allocator().reserve(count, eager_ ? &memory_ : nullptr); error != 0) {
    fail_to_grow(error);
  }
}

std::size_t pool_slots::shrink_to(std::size_t count) noexcept {
  const std::size_t least = std::min<std::size_t>(count, max_capacity_);
  return grows() ? allocator().shrink_to(static_cast<std::uint32_t>(least)) : max_capacity_;
}

void pool_slots::fail_to_grow(int error) const {
  throw_growth_failed(name_, capacity(), stats().in_use, error);
}

slot_pool_stats pool_slots::stats(bool counts_hits) const noexcept {
  slot_pool_stats stats = allocator().stats(counts_hits);
  if (keeper_ != nullptr) {
    stats.live = keeper_->live();
  }
  stats.bookkeeping_bytes += memory_.bookkeeping();
  stats.total_bytes += memory_.bookkeeping() + max_capacity_ * record_bytes_;
  return stats;
}

std::size_t pool_slots::bytes_needed(const object_pool_options& options,
                                     const slot_layout& layout) noexcept {
  const std::uint32_t most = most_slots(options);
  [[maybe_unused]] const std::size_t asked =
      options.when_full == when_full::grow ? options.max_capacity : options.capacity;
  LIDO_ASSERT(
      asked == most && most != 0 && options.capacity <= most && most <= PTRDIFF_MAX / layout.size,
      "bytes_needed with options that no pool can have");
  const std::size_t slot = layout.size + layout.record_bytes + (layout.counts_states ? 1 : 0);
  return most * slot + slot_allocator::bytes_needed(
                           most, layout.size, options.when_full == when_full::grow, options.list);
}

}  // namespace lido::inline v0::detail

void lido::prepare_thread() noexcept {
  (void)detail::assign_thread_number(/*waits=*/true);
}
