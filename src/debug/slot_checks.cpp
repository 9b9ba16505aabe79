#include "lido/debug/slot_checks.hpp"

#include <algorithm>
#include <memory>

#include "lido/base/address.hpp"
#include "report_text.hpp"

#if defined(LIDO_VALGRIND) && LIDO_VALGRIND
#include <valgrind/memcheck.h>
#define LIDO_TELL_VALGRIND(request) request
#else
#define LIDO_TELL_VALGRIND(request)
#endif

namespace lido::inline v0::detail {

namespace {

/// Maximum number of objects that a leak report describes. The report counts all leaked objects.
constexpr std::size_t described_leaks = 8;

/// Appends a line such as `released by thread 7 'main' at server+0x12`.
void append_event(report_text& text, std::string_view what, slot_record::event event) noexcept {
  (text << what << " by ").thread(event.thread) << " at ";
  text.where(event.at) << "\n";
}

/// Appends the last events of a slot, newest first. Acquires have odd step numbers, releases have
/// even ones.
void append_history(report_text& text, const slot_record& record) noexcept {
  const std::uint64_t last = record.last_step();
  const std::uint64_t kept = slot_record::kept_steps - last % 2;
  text << (last == 0 ? "  the slot was never acquired\n"
                     : "  last events of the slot, newest first:\n");
  for (std::uint64_t step = last; step > last - (std::min)(last, kept); --step) {
    const bool is_acquire = slot_record::is_used_after(step);
    append_event(text << "  step " << step, is_acquire ? ": acquired" : ": released",
                 record.event_of(step));
  }
}

/// Appends a line such as `pointer 0x7f12: byte 8 of slot 3 of 16 in pool 'jobs', 64 bytes each`.
void append_pointer(report_text& text, const void* object, const pool_trace& owner) noexcept {
  const auto address = address_bits(object);
  (text << "  pointer ").hex(address);
  if (owner.pool == nullptr) {
    text << ": no checked pool has or had it\n";
    return;
  }
  const std::uintptr_t distance = address - address_bits(owner.first);
  text << ": byte " << distance % owner.stride << " of slot " << distance / owner.stride << " of "
       << owner.capacity << " in pool '" << owner.name.data() << "', " << owner.stride
       << " bytes each" << (owner.alive ? "\n" : "; that pool has ended\n");
}

void append_written(report_text& text, const std::byte* slot, std::size_t from,
                    std::size_t size) noexcept {
  text << "  from byte " << from << ":";
  for (std::size_t i = from; i < (std::min)(from + 16, size); ++i) {
    (text << " ").hex(std::to_integer<std::uintptr_t>(slot[i]));
  }
  text << "\n";
}

slot_record* make_records(std::byte* memory, std::uint32_t capacity) noexcept {
  static_assert(alignof(slot_record) <= cache_line);
  auto* const records = static_cast<slot_record*>(static_cast<void*>(memory));
  std::uninitialized_value_construct_n(records, capacity);
  return records;
}

}  // namespace

// NOLINTNEXTLINE(readability-function-size): macros of Valgrind
checked_slots::checked_slots(std::string_view name, std::byte* first, std::uint32_t capacity,
                             std::size_t stride, fill_pattern pattern, std::byte* records)
    : first_(first),
      own_records_(records == nullptr ? std::make_unique<slot_record[]>(capacity) : nullptr),
      records_(records == nullptr ? own_records_.get() : make_records(records, capacity)),
      admitted_(capacity),
      pattern_(pattern),
      name_(name),
      trace_{.pool = this, .first = first, .stride = stride, .capacity = capacity} {
  for (slot_index slot = 0; slot < capacity; ++slot) {
    pattern_.fill(first + stride * slot, 0);
  }
  name.copy(trace_.name.data(), trace_.name.size() - 1);
  register_checked(trace_);
  LIDO_TELL_VALGRIND(VALGRIND_CREATE_MEMPOOL(this, 0, 0));
  LIDO_TELL_VALGRIND(VALGRIND_MAKE_MEM_NOACCESS(first_, stride * capacity));
}

// NOLINTNEXTLINE(readability-function-size): macros of Valgrind
checked_slots::~checked_slots() {
  LIDO_TELL_VALGRIND(VALGRIND_DESTROY_MEMPOOL(this));
  LIDO_TELL_VALGRIND(VALGRIND_MAKE_MEM_DEFINED(first_, trace_.stride * trace_.capacity));
  report_leaks();
  for (slot_index slot = 0; slot < trace_.capacity; ++slot) {
    const void* const start = first_ + trace_.stride * slot;
    if (!is_used(slot) && !is_intact(start)) {
      report(misuse_kind::write_after_release, start, code_address::here());
    }
  }
  unregister_checked(trace_);
  // relaxed: read only by releases to a destroyed pool; such releases are errors, whatever they
  // read. The member is atomic because compilers drop ordinary stores to an object that is about to
  // be destroyed.
  admitted_.store(0, std::memory_order_relaxed);
}

void checked_slots::close() noexcept {
  // relaxed: read only by acquires during the destruction of the pool; such acquires are errors,
  // whatever they read
  ends_.store(true, std::memory_order_relaxed);
}

void checked_slots::begin_use(void* slot, code_address at) noexcept {
  look_into(slot, at);
  records_[distance_to(slot) / trace_.stride].begin_use(at, this_thread_id());
}

void checked_slots::watch(void* slot) const noexcept {
  pattern_.fill(slot, record_at(slot).uses());
  tell_release(slot);
}

// NOLINTNEXTLINE(readability-function-size): macros of Valgrind
void checked_slots::look_into(void* slot, code_address at) const noexcept {
  LIDO_TELL_VALGRIND(VALGRIND_MAKE_MEM_DEFINED(slot, trace_.stride));
  if (!is_intact(slot)) {
    report(misuse_kind::write_after_release, slot, at);
  }
  LIDO_TELL_VALGRIND(VALGRIND_MEMPOOL_ALLOC(this, slot, trace_.stride));
}

// NOLINTNEXTLINE(readability-function-size): macros of Valgrind
void checked_slots::tell_release([[maybe_unused]] const void* slot) const noexcept {
  LIDO_TELL_VALGRIND(VALGRIND_MEMPOOL_FREE(this, slot));
}

void checked_slots::refuse(const void* object, code_address at) const noexcept {
  const pool_trace owner = find_owner(object);
  misuse_kind kind = misuse_kind::double_release;
  if (object == nullptr || !find_checked(this).alive || (owner.pool != nullptr && !owner.alive)) {
    kind = misuse_kind::dead_pool;
  } else if (owner.pool == nullptr) {
    kind = misuse_kind::foreign_pointer;
  } else if (owner.pool != this) {
    kind = misuse_kind::wrong_pool;
  } else if (distance_to(object) % trace_.stride != 0) {
    kind = misuse_kind::inside_slot;
  }
  report(kind, object, at);
}

void checked_slots::report(misuse_kind kind, const void* object, code_address at) const noexcept {
  const pool_trace self = find_checked(this);
  const pool_trace owner = find_owner(object);
  // While the pool is being destroyed, only what the registry has stored about it is read.
  // relaxed: as in close
  const bool lives = self.alive && !ends_.load(std::memory_order_relaxed);
  const std::string_view name = lives ? name_ : self.name.data();
  const bool is_ours = lives && owner.pool == this;
  const bool is_write = kind == misuse_kind::write_after_release;
  report_text text;
  text << "lido: pool '" << name << "'"
       << (lives        ? ": "
           : self.alive ? ", which ends: "
                        : ", which has ended: ")
       << to_string(kind) << "\n";
  if (object != nullptr) {
    append_pointer(text, object, owner);
  }
  if (is_write) {
    append_written(text, static_cast<const std::byte*>(object),
                   pattern_.first_overwritten(object, record_at(object).uses()), trace_.stride);
  }
  const bool is_acquire = object == nullptr;
  append_event(text,
               is_write     ? "  found"
               : is_acquire ? "  acquire"
                            : "  released",
               {this_thread_id(), at});
  if (is_ours) {
    append_history(text, record_at(object));
  }
  hand_over({kind, name, object, 1, text.commands().view()});
}

void checked_slots::report_leaks() const noexcept {
  std::size_t count = 0;
  slot_index lowest = 0;
  for (slot_index slot = trace_.capacity; slot-- > 0;) {
    if (is_used(slot)) {
      ++count;
      lowest = slot;
    }
  }
  if (count == 0) {
    return;
  }
  report_text text;
  text << "lido: pool '" << name_ << "' ends with " << count << " of " << trace_.capacity
       << " objects in use\n";
  std::size_t described = 0;
  for (slot_index slot = lowest; slot < trace_.capacity && described < described_leaks; ++slot) {
    if (is_used(slot)) {
      ++described;
      append_pointer(text, first_ + trace_.stride * slot, trace_);
      append_event(text, "  acquired", records_[slot].event_of(records_[slot].last_step()));
    }
  }
  if (count > described) {
    text << "  and " << count - described << " more\n";
  }
  hand_over(
      {misuse_kind::leak, name_, first_ + trace_.stride * lowest, count, text.commands().view()});
}

}  // namespace lido::inline v0::detail
