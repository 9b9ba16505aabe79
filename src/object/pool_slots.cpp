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
#include "lido/base/memory_cursor.hpp"
#include "lido/base/option_problem.hpp"
#include "lido/concurrency/thread_number.hpp"
#include "lido/debug/misuse.hpp"
#include "lido/debug/registry.hpp"
#include "lido/freelist/index_list.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0::detail {

namespace {

option_problem find_problem_of_growing(const object_pool_options& options,
                                       const slot_layout& layout) {
  if (options.max_capacity == 0) {
    return {option_problem::kind::option, {"when_full::grow needs max_capacity"}};
  }
  if (option_problem found = out_of_range("max_capacity", options.max_capacity, 1, max_capacity)) {
    return found;
  }
  if (options.capacity > options.max_capacity) {
    return {option_problem::kind::option,
            {"capacity ", digits(options.capacity).view(), " is more than max_capacity ",
             digits(options.max_capacity).view()}};
  }
  if (layout.record_bytes != 0) {
    return {
        option_problem::kind::option,
        {"when_full::grow does not go with Traits::checked, which has a record of every slot from "
         "the start"}};
  }
  if (options.list != nullptr && !options.list->can_grow()) {
    return {option_problem::kind::option,
            {"when_full::grow does not go with list, which cannot grow"}};
  }
  if (options.memory != nullptr) {
    return {option_problem::kind::option,
            {"when_full::grow does not go with memory, which cannot grow"}};
  }
  return {};
}

option_problem find_problem_of_fixed(const object_pool_options& options) {
  if (option_problem found = out_of_range("capacity", options.capacity, 1, max_capacity)) {
    return found;
  }
  if (options.max_capacity != 0) {
    return {option_problem::kind::option,
            {"max_capacity ", digits(options.max_capacity).view(), " needs when_full::grow"}};
  }
  if (options.memory != nullptr && options.list != nullptr) {
    return {option_problem::kind::option,
            {"list does not go with memory, which has Lido's own list"}};
  }
  return {};
}

/// Returns the maximum number of slots of the pool. Requires: the options are valid.
std::uint32_t most_slots(const object_pool_options& options) noexcept {
  const bool grows = options.when_full == when_full::grow;
  return static_cast<std::uint32_t>(grows ? options.max_capacity : options.capacity);
}

/// Returns the maximum number of slots of the pool. Throws the exceptions that the constructor of
/// the pool documents, before any memory is requested.
std::uint32_t checked_most_slots(const object_pool_options& options, const slot_layout& layout) {
  throw_if(pool_slots::find_problem(options, layout), options.name);
  return most_slots(options);
}

allocator_options to_allocator(const object_pool_options& options, std::uint32_t capacity,
                               slot_memory& memory, const slot_layout& layout, memory_cursor& own) {
  const bool is_fixed = options.warm || options.memory != nullptr;
  const std::size_t most = is_fixed ? most_cached_when_fixed : slot_cache::most_items;
  return {.geometry = memory.geometry(),
          .capacity = capacity,
          .caches = options.caches,
          .max_cached = static_cast<std::uint32_t>((std::min)(options.max_cached, most)),
          .may_wait = options.when_full == when_full::wait,
          .list = options.list,
          .segments = options.when_full == when_full::grow ? &memory : nullptr,
          .visits_free = layout.keeps,
          .visits_used = layout.visits_used,
          .name = options.name,
          .memory = own.has_memory() ? &own : nullptr};
}

/// Destroys idle objects until no more than `most` objects are alive.
class surplus_objects final : public free_slot_visitor {
 public:
  /// `eager` is true if slots contained objects before they were first acquired.
  surplus_objects(slot_memory& memory, object_keeper& keeper, std::size_t most, bool eager) noexcept
      : memory_(memory), keeper_(keeper), most_(most), eager_(eager) {}

  [[nodiscard]] bool is_done() const noexcept override { return keeper_.live() <= most_; }
  [[nodiscard]] bool wants_unused() const noexcept override { return eager_; }
  [[nodiscard]] bool wants(slot_index slot) const noexcept override {
    return memory_.has_object(slot);
  }
  void visit(slot_index slot) noexcept override {
    platform::tell_acquire(memory_.address_of(slot));
    keeper_.destroy_in(memory_, slot);
    platform::tell_release(memory_.address_of(slot));
  }

 private:
  slot_memory& memory_;
  object_keeper& keeper_;
  std::size_t most_;
  bool eager_;
};

/// The number of forks that led to this process. In a pool that was created before the last fork,
/// objects that other threads of the parent held stay in use. Such a pool therefore reports no
/// leaks.
constinit std::uint32_t forks = 0;
LIDO_RUN_AT_LOAD(1001, watch_forks);
void watch_forks() noexcept {
  (void)platform::on_fork(nullptr, nullptr, [] { ++forks; });
}

/// Prints a message and aborts the program. Called if the pool is being destroyed while threads or
/// callbacks wait for it.
[[noreturn]] void end_for_waiters(std::string_view name, std::size_t waiting) noexcept {
  (void)std::fprintf(stderr, "lido: pool '%.*s' ends while %zu acquires wait for it\n",
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

option_problem pool_slots::find_problem(const object_pool_options& options,
                                        const slot_layout& layout) noexcept {
  const bool grows = options.when_full == when_full::grow;
  if (option_problem found =
          grows ? find_problem_of_growing(options, layout) : find_problem_of_fixed(options)) {
    return found;
  }
  if (option_problem found =
          out_of_range("max_cached", options.max_cached, 0, slot_cache::most_items)) {
    return found;
  }
  if (options.creation == creation::eager && !layout.keeps) {
    return {option_problem::kind::option, {"creation::eager needs Traits::hooks"}};
  }
  const std::uint32_t most = most_slots(options);
  if (most > PTRDIFF_MAX / layout.size) {
    return {option_problem::kind::size, {"the size of all slots overflows"}};
  }
  return options.memory != nullptr
             ? too_little_memory(options.memory, parts_needed(options, layout))
             : option_problem();
}

/// Returns what the pool needs from a memory_source. Each part is taken here in the same order as
/// in the constructor.
memory_cursor pool_slots::parts_needed(const object_pool_options& options,
                                       const slot_layout& layout) noexcept {
  memory_cursor all;
  (void)slot_memory::take_parts(all, layout, most_slots(options));
  slot_allocator::take_tables(all, most_slots(options), options.name.size(), layout.keeps,
                              layout.visits_used);
  if (options.registry != nullptr) {
    (void)all.take(sizeof(registration), alignof(registration));
  }
  return all;
}

pool_slots::pool_slots(const object_pool_options& options, const slot_layout& layout)
    : pool_slots(options, layout, memory_cursor()) {}

pool_slots::pool_slots(const object_pool_options& options, const slot_layout& layout,
                       memory_cursor own)
    : max_capacity_(checked_most_slots(options, layout)),
      piece_(options.memory,
             options.memory != nullptr ? parts_needed(options, layout) : memory_cursor(),
             options.name, own),
      memory_(own.has_memory() ? slot_memory(layout, max_capacity_, own)
                               : slot_memory(layout, max_capacity_,
                                             options.when_full == when_full::grow, options.name)),
      when_full_(options.when_full),
      forks_(forks),
      record_bytes_(layout.record_bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-union-access): its lifetime begins here
  std::construct_at(&allocator_, to_allocator(options, max_capacity_, memory_, layout, own));
  name_ = allocator().name();
  if (options.registry != nullptr) {
    entry_part_ = own.take(sizeof(registration), alignof(registration));
  }
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
    entry_ = entry_part_ == nullptr
                 ? new registration(*options.registry, "object_pool", name_, *this)
                 : ::new (entry_part_) registration(*options.registry, "object_pool", name_, *this);
  }
}

// NOLINTNEXTLINE(readability-function-size): a loop over slots within a loop over batches
void pool_slots::end(bool reports_leak) noexcept {
  if (entry_part_ == nullptr) {
    delete std::exchange(entry_, nullptr);
  } else if (entry_ != nullptr) {
    std::destroy_at(std::exchange(entry_, nullptr));
  }
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
  const std::size_t left =
      grows() ? allocator().shrink_to(static_cast<std::uint32_t>(least)) : max_capacity_;
  if (keeper_ != nullptr) {
    if (surplus_objects surplus(memory_, *keeper_, count, eager_); !surplus.is_done()) {
      allocator().visit_free(surplus);
    }
  }
  return left;
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
  if (options.memory != nullptr) {
    return parts_needed(options, layout).bytes();
  }
  const std::size_t slot = layout.size + layout.record_bytes + (layout.counts_states ? 1 : 0);
  return most * slot + slot_allocator::bytes_needed(most, layout.size,
                                                    options.when_full == when_full::grow,
                                                    options.list, layout.keeps);
}

}  // namespace lido::inline v0::detail

void lido::prepare_thread() noexcept {
  (void)detail::assign_thread_number(/*waits=*/true);
}
