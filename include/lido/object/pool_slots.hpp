/// @file
/// Internal. What an object_pool is made of that need not know the type of its objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <version>

#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

#include "lido/allocator/segment_memory.hpp"
#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/address.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/object/options.hpp"

namespace lido::inline v0::detail {

#if defined(__cpp_lib_jthread)
using std::stop_token;
#else
struct stop_token {  ///< the standard library has none
  stop_token() = delete;
};
#endif
class address_space;
class registration;
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final, so nothing derives from it
class slot_memory;

/// What a pool knows about T when it is compiled.
struct slot_layout {
  std::size_t size;
  std::size_t alignment;
  bool keeps;                  ///< objects outlive their release
  bool has_states;             ///< a byte a slot says what is in it
  bool counts_states = false;  ///< in the statistics: not those for AddressSanitizer alone
  std::size_t record_bytes;    ///< of a slot, in a checked pool
  // For AddressSanitizer; see slot_shadow.
  void (*close_all)(const std::byte* first, std::uint32_t count) noexcept;
  void (*open_all)(const std::byte* first, std::uint32_t count) noexcept;
};

/// Makes and ends the objects of a pool that keeps them, for code that does not know their type.
class object_keeper {
 public:
  object_keeper() = default;
  object_keeper(const object_keeper&) = delete;
  object_keeper& operator=(const object_keeper&) = delete;

  /// Throws what the constructor or the hook throws. Requires: the slot is the caller's, and empty.
  virtual void create_in(slot_memory& memory, slot_index slot) = 0;
  /// Requires: the slot is the caller's, and keeps an object.
  virtual void destroy_in(slot_memory& memory, slot_index slot) noexcept = 0;
  [[nodiscard]] virtual std::size_t live() const noexcept = 0;

 protected:
  ~object_keeper() = default;
};

/// in_use counts only in pools that track it.
enum class slot_content : std::uint8_t { empty, kept, in_use };

/// The memory of the slots: all of it from the start, or by segments. And, in pools that keep
/// objects or track their use, a byte of state for each slot.
///
/// A state belongs to the slot: only the thread that has taken the slot out of the free list writes
/// it, and the free list orders one owner after the other.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): as above
class slot_memory final : public segment_memory, public segment_fill {
 public:
  /// Throws std::bad_array_new_length when the size overflows, std::bad_alloc.
  slot_memory(const slot_layout& layout, std::uint32_t capacity, bool grows);
  slot_memory(const slot_memory&) = delete;
  slot_memory& operator=(const slot_memory&) = delete;
  ~slot_memory();

  [[nodiscard]] std::byte* first() const noexcept { return first_; }
  [[nodiscard]] slot_geometry geometry() const noexcept { return {first_, layout_.size}; }
  [[nodiscard]] void* address_of(slot_index slot) const noexcept {
    return first_ + layout_.size * slot;
  }

  /// Requires: `slot` is the start of a slot of `Size` bytes.
  template <std::size_t Size>
  [[nodiscard]] slot_index index_of(const void* slot) const noexcept {
    return static_cast<slot_index>(distance_to(slot) / Size);
  }
  template <std::size_t Size>
  [[nodiscard]] bool owns(const void* object) const noexcept {
    const std::uintptr_t distance = distance_to(object);
    return object != nullptr && distance < Size * capacity_ && distance % Size == 0;
  }

  /// Whether the slot holds an object, in use or kept. For the slot's owner.
  [[nodiscard]] bool holds(slot_index slot) const noexcept {
    // relaxed: the free list orders the owners of a slot
    return states_[slot].load(std::memory_order_relaxed) != slot_content::empty;
  }
  [[nodiscard]] bool is_used(slot_index slot) const noexcept {
    // (1) - this acquire-load synchronizes-with the release-store (2), so the object is complete
    return states_[slot].load(std::memory_order_acquire) == slot_content::in_use;
  }
  void set_used(slot_index slot) noexcept {
    // (2) - this release-store synchronizes-with the acquire-load (1)
    states_[slot].store(slot_content::in_use, std::memory_order_release);
  }
  /// Kept or empty.
  void set_unused(slot_index slot, slot_content content) noexcept {
    // relaxed: a walk beside a release of the same object is the caller's to prevent
    states_[slot].store(content, std::memory_order_relaxed);
  }

  /// Slots that have ever had memory; the states of no others may be read.
  [[nodiscard]] std::uint32_t backed() const noexcept {
    // (3) - this acquire-load synchronizes-with the release-store slot_memory.cpp (1), so their
    // states are readable
    return backed_.load(std::memory_order_acquire);
  }
  /// Bytes of all states.
  [[nodiscard]] std::size_t bookkeeping() const noexcept;
  /// Writes to each page, so that none has to be found later. Requires: no slot holds an object.
  void touch() noexcept;

  /// Lets AddressSanitizer refuse all slots, and allow them: what gets their addresses next must
  /// find them usable.
  void close() noexcept { layout_.close_all(first_, backed()); }
  void open() noexcept { layout_.open_all(first_, backed()); }

  /// Makes what a slot keeps when its segment is filled, and ends it when the segment goes.
  void use(object_keeper* keeper) noexcept { keeper_ = keeper; }

  [[nodiscard]] int commit(slot_index first, std::uint32_t count) noexcept override;
  void fill(slot_index first, std::uint32_t count, work_progress& progress) override;
  void vacate(slot_index first, std::uint32_t count, work_progress& progress) noexcept override;
  [[nodiscard]] int decommit(slot_index first, std::uint32_t count) noexcept override;

 private:
  using state = atomic<slot_content>;

  slot_memory(const slot_layout& layout, std::uint32_t capacity) noexcept;

  [[nodiscard]] std::uintptr_t distance_to(const void* object) const noexcept {
    // As numbers, since a foreign pointer must not be subtracted.
    return address_bits(object) - address_bits(first_);
  }
  [[nodiscard]] std::size_t alignment() const noexcept;
  void reserve_addresses();
  void allocate_all();
  [[nodiscard]] int commit_states(std::uint32_t slots) noexcept;

  std::byte* first_ = nullptr;
  state* states_ = nullptr;
  slot_layout layout_;
  std::uint32_t capacity_;
  atomic<std::uint32_t> backed_{0};
  std::size_t committed_states_ = 0;  ///< bytes
  object_keeper* keeper_ = nullptr;
  // Owned, of a pool that grows; in others `first_` and `states_` are.
  address_space* slot_addresses_ = nullptr;
  address_space* state_addresses_ = nullptr;
};

/// The slots of one pool: where they lie, which of them are free, and the words for what is wrong.
class pool_slots {
 public:
  /// Throws std::invalid_argument that names the option; std::bad_array_new_length or
  /// std::bad_alloc.
  pool_slots(const object_pool_options& options, const slot_layout& layout);
  pool_slots(const pool_slots&) = delete;
  pool_slots& operator=(const pool_slots&) = delete;
  ~pool_slots();

  /// The slots and objects that `options` say a pool begins with; `keeper` is null if it keeps
  /// none. Throws growth_failed and what `keeper` does. `end` is to be called in either case.
  void begin(const object_pool_options& options, object_keeper* keeper);
  /// Ends the program if threads wait. Destroys the objects that free slots hold, of which
  /// some may be in the caches of other threads where they cannot be looked into.
  void end() noexcept;

  [[nodiscard]] slot_memory& memory() noexcept { return memory_; }
  [[nodiscard]] const slot_memory& memory() const noexcept { return memory_; }
  // NOLINTBEGIN(cppcoreguidelines-pro-type-union-access): the union is for its time of life alone
  [[nodiscard]] slot_allocator& allocator() noexcept { return allocator_; }
  [[nodiscard]] const slot_allocator& allocator() const noexcept { return allocator_; }
  // NOLINTEND(cppcoreguidelines-pro-type-union-access)

  /// As `when_full` says, once there is no free slot: waits, or throws.
  [[nodiscard]] void* acquire_blocking();
  /// Null: it was told to stop, or its time was up, first.
  [[nodiscard]] void* wait_for_slot(const deadline& until);
  [[nodiscard]] void* wait_for_slot(const stop_token& stop);

  void reserve(std::size_t count);
  std::size_t shrink_to(std::size_t count) noexcept;

  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return allocator().capacity(); }
  [[nodiscard]] std::uint32_t max_capacity() const noexcept { return max_capacity_; }
  [[nodiscard]] bool grows() const noexcept { return when_full_ == when_full::grow; }
  [[nodiscard]] pool_stats stats() const noexcept;

 private:
  void add(std::uint32_t count);
  [[noreturn]] void fail_to_grow(int error) const;

  // First, so that a hit finds it at the address of the pool; but made after the memory, and ended
  // before it.
  union {
    slot_allocator allocator_;
  };
  std::uint32_t max_capacity_;  ///< before the memory: checks the options
  slot_memory memory_;
  std::string_view name_;  ///< that of the allocator
  when_full when_full_;
  object_keeper* keeper_ = nullptr;  ///< null: the pool keeps no objects
  bool eager_ = false;               ///< the slots that `reserve` adds get objects
  std::size_t record_bytes_;         ///< as in slot_layout
  registration* entry_ = nullptr;    ///< owned; null: in no registry
};

}  // namespace lido::inline v0::detail
