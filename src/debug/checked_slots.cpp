#include "lido/debug/checked_slots.hpp"

#include <algorithm>

#include "lido/debug/fill_pattern.hpp"
#include "lido/debug/pool_registry.hpp"
#include "lido/debug/thread_label.hpp"
#include "place_text.hpp"
#include "report_text.hpp"

namespace lido::detail {

namespace {

/// Objects of one pool that a leak report describes; it counts all.
constexpr std::size_t described_leaks = 8;

pool_trace trace_of(const checked_slots& pool, const std::byte* first) noexcept {
  pool_trace trace{&pool, first, pool.stride() * pool.capacity(), pool.stride(), {}};
  const std::string_view name = pool.name().substr(0, trace.name.size() - 1);
  std::copy(name.begin(), name.end(), trace.name.begin());
  return trace;
}

void append_thread(report_text& text, std::uint32_t id) noexcept {
  std::array<char, 16> room{};
  text << "thread " << id;
  if (const std::string_view name = thread_name(id, room); !name.empty()) {
    text << " '" << name << "'";
  }
}

/// `released by thread 7 'main' in f() at f.cpp:3 (program+0x12)`
void append_moment(report_text& text, std::string_view what, std::uint32_t thread,
                   place at) noexcept {
  text << what << " by ";
  append_thread(text, thread);
  text << " in ";
  describe(text, at);
  text << "\n";
}

/// Acquires have odd steps, releases even ones.
void append_step(report_text& text, std::uint64_t step, const slot_record::event& event) noexcept {
  text << "  step " << step;
  if (event.known) {
    append_moment(text, step % 2 != 0 ? ": acquired" : ": released", event.thread, event.at);
  } else {
    text << ": another thread is just writing it\n";
  }
}

/// The last events of a slot, newest first.
void append_history(report_text& text, const slot_record& record) noexcept {
  const std::uint64_t last = record.last_use();
  if (last == 0) {
    text << "  the slot was never acquired\n";
    return;
  }
  text << "  last events of the slot, newest first:\n";
  const std::uint64_t kept = std::min(last, slot_record::kept_uses);
  for (std::uint64_t use = last; use > last - kept; --use) {
    if (record.has_ended(use)) {
      append_step(text, use * 2, record.release_of(use));
    }
    append_step(text, use * 2 - 1, record.acquire_of(use));
  }
}

void append_slot(report_text& text, const checked_slots& pool, slot_index slot) noexcept {
  (text << "object ").address(pool.address_of(slot))
      << " (slot " << std::uint64_t{slot} << " of " << std::uint64_t{pool.capacity()} << ", "
      << std::uint64_t{pool.stride()} << " bytes each)";
}

/// The first objects that are in use.
void append_leaks(report_text& text, const checked_slots& pool,
                  const slot_record* records) noexcept {
  std::size_t described = 0;
  for (slot_index slot = 0; slot < pool.capacity() && described < described_leaks; ++slot) {
    if (pool.is_used(slot)) {
      ++described;
      text << "  ";
      append_slot(text, pool, slot);
      text << "\n";
      const std::uint64_t use = records[slot].last_use();
      append_step(text, use * 2 - 1, records[slot].acquire_of(use));
    }
  }
}

void append_pool(report_text& text, std::string_view name) noexcept {
  text << "pool '" << name << "'";
}

void tell(misuse_kind kind, std::string_view pool, const void* object, std::size_t count,
          const report_text& text) noexcept {
  hand_over({kind, pool, object, count, text.view()});
}

misuse_kind kind_of(const pool_lookup& seen, const checked_slots* pool) noexcept {
  if (!seen.pool_alive) {
    return misuse_kind::dead_pool;
  }
  if (!seen.owner_found) {
    return misuse_kind::foreign_pointer;
  }
  if (!seen.owner_alive) {
    return misuse_kind::dead_pool;
  }
  return seen.owner.pool == pool ? misuse_kind::inside_slot : misuse_kind::wrong_pool;
}

/// What is wrong with releasing `object` to the pool of that name.
void append_stranger(report_text& text, misuse_kind kind, std::string_view name,
                     const pool_lookup& seen, const void* object) noexcept {
  text << "lido: ";
  if (!seen.pool_alive) {
    text << "release to a pool that has ended";
    if (seen.self.pool != nullptr) {
      text << ", ";
      append_pool(text, name);
    }
  } else {
    append_pool(text, name);
    text << ": release of ";
    switch (kind) {
      case misuse_kind::inside_slot:
        text << "a pointer into the middle of a slot";
        break;
      case misuse_kind::wrong_pool:
        text << "an object of another pool";
        break;
      case misuse_kind::dead_pool:
        text << "an object of a pool that has ended";
        break;
      default:
        text << "a pointer that no checked pool has or had";
    }
  }
  (text << "\n  pointer ").address(object);
  if (seen.owner_found) {
    // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): addresses as numbers
    const std::uintptr_t distance = reinterpret_cast<std::uintptr_t>(object) -
                                    reinterpret_cast<std::uintptr_t>(seen.owner.first);
    // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
    text << ": byte " << std::uint64_t{distance % seen.owner.stride} << " of slot "
         << std::uint64_t{distance / seen.owner.stride} << " of ";
    append_pool(text, seen.owner.name.data());
    text << (seen.owner_alive ? "" : ", which was there before it ended");
  }
  text << "\n";
}

}  // namespace

checked_slots::checked_slots(std::string_view name, std::byte* first, std::uint32_t capacity,
                             std::size_t stride, fill_pattern pattern)
    : first_(first),
      admitted_(capacity),
      records_(std::make_unique<slot_record[]>(capacity)),
      pattern_(pattern),
      stride_(stride),
      capacity_(capacity),
      name_(name) {
  for (slot_index slot = 0; slot < capacity; ++slot) {
    pattern_.fill(first + stride * slot, 0);
  }
  register_checked(trace_of(*this, first_));
}

checked_slots::~checked_slots() {
  report_leaks();
  look_for_overwritten();
  unregister_checked(this);
  // relaxed: for those who release to a pool that has died; they are wrong whatever they read. An
  // atomic, because a compiler drops ordinary stores to what is about to end.
  admitted_.store(0, std::memory_order_relaxed);
}

void checked_slots::refuse_stranger(const void* object, place at) const noexcept {
  const pool_lookup seen = look_up(this, object);
  const misuse_kind kind = kind_of(seen, this);
  // Of a pool that has ended nothing is read but what was remembered.
  const std::string_view name = seen.pool_alive ? name_ : seen.self.name.data();
  report_text text;
  append_stranger(text, kind, name, seen, object);
  append_moment(text, "  released", this_thread_id(), at);
  if (kind == misuse_kind::inside_slot) {
    append_history(text, records_[distance_to(object) / stride_]);
  }
  tell(kind, name, object, 1, text);
}

void checked_slots::refuse_second_release(const void* object, place at) const noexcept {
  const auto slot = static_cast<slot_index>(distance_to(object) / stride_);
  report_text text;
  text << "lido: pool '" << name_ << "': double release of ";
  append_slot(text, *this, slot);
  text << "\n";
  append_moment(text, "  released again", this_thread_id(), at);
  append_history(text, records_[slot]);
  tell(misuse_kind::double_release, name_, object, 1, text);
}

void checked_slots::report_overwritten(const void* object, place at) const noexcept {
  const auto slot = static_cast<slot_index>(distance_to(object) / stride_);
  const std::size_t offset = pattern_.first_overwritten(object, records_[slot].last_use());
  const auto* const bytes = static_cast<const std::byte*>(object);
  report_text text;
  text << "lido: pool '" << name_ << "': write after release to ";
  append_slot(text, *this, slot);
  text << "\n  from byte " << std::uint64_t{offset} << ":";
  for (std::size_t i = offset; i < std::min(offset + 16, stride_); ++i) {
    text << " ";
    text.hex(std::to_integer<std::uintptr_t>(bytes[i]));
  }
  text << "\n";
  append_moment(text, "  found", this_thread_id(), at);
  append_history(text, records_[slot]);
  tell(misuse_kind::write_after_release, name_, object, 1, text);
}

void checked_slots::report_leaks() const noexcept {
  std::size_t count = 0;
  const void* first = nullptr;
  for (slot_index slot = capacity_; slot-- > 0;) {
    if (is_used(slot)) {
      ++count;
      first = address_of(slot);
    }
  }
  if (count == 0) {
    return;
  }
  report_text text;
  text << "lido: pool '" << name_ << "' ends with " << std::uint64_t{count} << " of "
       << std::uint64_t{capacity_} << " objects in use\n";
  append_leaks(text, *this, records_.get());
  if (count > described_leaks) {
    text << "  and " << std::uint64_t{count - described_leaks} << " more\n";
  }
  tell(misuse_kind::leak, name_, first, count, text);
}

void checked_slots::look_for_overwritten() const noexcept {
  for (slot_index slot = 0; slot < capacity_; ++slot) {
    if (!is_used(slot) && !is_intact(slot)) {
      report_overwritten(address_of(slot), place::here());
    }
  }
}

}  // namespace lido::detail
