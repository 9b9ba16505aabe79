/// @file
/// Internal. The parts of an object_pool that do not depend on the type of its objects.
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
#include "lido/base/assert.hpp"
#include "lido/base/memory_piece.hpp"
#include "lido/base/pool_stats.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/concurrency/zeroed_array.hpp"
#include "lido/object/options.hpp"

namespace lido::inline v0 {

class option_problem;

namespace detail {

#if defined(__cpp_lib_jthread)
using std::stop_token;
#else
struct stop_token {  ///< replaces std::stop_token, which the standard library lacks
  stop_token() = delete;
};
#endif

class registration;
class slot_memory;

/// Facts about T and its pool that are known at compile time.
struct slot_layout {
  std::size_t size;
  std::size_t alignment;
  bool keeps;                  ///< the pool keeps released objects
  bool has_states;             ///< a byte per slot records what the slot contains
  bool counts_states = false;  ///< false if the states are only for AddressSanitizer
  std::size_t record_bytes;    ///< bytes of a slot's record in a checked pool
  bool visits_used = false;    ///< `release_all` visits the objects in use
  // Both functions are for AddressSanitizer; see slot_shadow.
  void (*close_all)(const std::byte* first, std::uint32_t count) noexcept;
  void (*open_all)(const std::byte* first, std::uint32_t count) noexcept;
};

/// Creates and destroys the kept objects of a pool, for code that does not know their type.
class object_keeper {
 public:
  object_keeper() = default;
  object_keeper(const object_keeper&) = delete;
  object_keeper& operator=(const object_keeper&) = delete;

  /// Creates an object. Throws whatever T's constructor or the hook throws. Requires: the caller
  /// owns the slot, and the slot is empty.
  virtual void create_in(slot_memory& memory, slot_index slot) = 0;
  /// Destroys an object. Requires: the caller owns the slot, and the slot contains an object.
  virtual void destroy_in(slot_memory& memory, slot_index slot) noexcept = 0;
  [[nodiscard]] virtual std::size_t live() const noexcept = 0;

 protected:
  ~object_keeper() = default;
};

/// Content of a slot. `in_use` occurs only in pools that track which objects are in use.
enum class slot_content : std::uint8_t { empty, kept, in_use };

/// Owns the memory of the slots, which exists from the start or is added segment by segment. In
/// pools that keep objects or track their use, it also holds a byte of state for each slot.
///
/// Only the owner of a slot writes the slot's state. The owner is the thread that has taken the
/// slot from the free list, and the free list orders successive owners.
class slot_memory final : public segment_memory, public segment_fill {
 public:
  /// Throws std::bad_array_new_length if the size overflows, or std::bad_alloc.
  slot_memory(const slot_layout& layout, std::uint32_t capacity, bool grows,
              std::string_view pool_name);
  /// Places the slots and their states in memory of the program, which outlives this object.
  slot_memory(const slot_layout& layout, std::uint32_t capacity, memory_cursor& memory) noexcept;
  slot_memory(const slot_memory&) = delete;
  slot_memory& operator=(const slot_memory&) = delete;
  ~slot_memory();

  /// Takes from `memory` what the slots, their states and their records take, in this order, so
  /// that a cursor without memory finds out how many bytes that is.
  struct parts {
    std::byte* objects;
    std::byte* states;
    std::byte* records;
  };
  static parts take_parts(memory_cursor& memory, const slot_layout& layout,
                          std::uint32_t capacity) noexcept;

  [[nodiscard]] std::byte* first() const noexcept { return first_; }
  /// Returns the memory for the records of a checked pool, or null if that is the system's.
  [[nodiscard]] std::byte* records() const noexcept { return records_; }
  [[nodiscard]] slot_geometry geometry() const noexcept { return {first_, layout_.size}; }
  [[nodiscard]] void* address_of(slot_index slot) const noexcept {
    return first_ + layout_.size * slot;
  }

  /// Returns the index of the slot at the address `slot`. Requires: a slot of `Size` bytes starts
  /// there.
  template <std::size_t Size>
  [[nodiscard, LIDO_ASSERTS]] slot_index index_of(const void* slot) const noexcept {
    LIDO_ASSERT(owns<Size>(slot), "an address that is not that of a slot");
    return static_cast<slot_index>(distance_to(slot) / Size);
  }
  template <std::size_t Size>
  [[nodiscard]] bool owns(const void* object) const noexcept {
    const std::uintptr_t distance = distance_to(object);
    return object != nullptr && distance < Size * capacity_ && distance % Size == 0;
  }

  /// Returns true if the slot contains an object, in use or kept. Requires: the caller owns the
  /// slot.
  [[nodiscard]] bool has_object(slot_index slot) const noexcept {
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
  /// Sets the content of the slot to `content`, which is kept or empty.
  void set_unused(slot_index slot, slot_content content) noexcept {
    // relaxed: the caller ensures that no walk runs during a release of the same object
    states_[slot].store(content, std::memory_order_relaxed);
  }

  /// Returns the number of slots that have ever had memory. The states of other slots must not be
  /// read.
  [[nodiscard]] std::uint32_t backed() const noexcept {
    // (3) - this acquire-load synchronizes-with the release-store slot_memory.cpp (1), so the
    // states of these slots are readable
    return backed_.load(std::memory_order_acquire);
  }
  /// Returns the size of all states, in bytes.
  [[nodiscard]] std::size_t bookkeeping() const noexcept;
  /// Writes to each page, so that all pages are resident. Requires: no slot contains an object.
  void touch() noexcept;

  /// Make AddressSanitizer reject accesses to all slots, or allow them. Accesses must be allowed
  /// again before the memory is freed, because its addresses may be reused.
  void close() noexcept { layout_.close_all(first_, backed()); }
  void open() noexcept { layout_.open_all(first_, backed()); }

  /// Lets `keeper` create the objects in a segment that is filled, and destroy those in a segment
  /// that is removed.
  void use(object_keeper* keeper) noexcept { keeper_ = keeper; }

  [[nodiscard]] int commit(slot_index first, std::uint32_t count) noexcept override;
  void fill(slot_index first, std::uint32_t count, work_progress& progress) override;
  void vacate(slot_index first, std::uint32_t count, work_progress& progress) noexcept override;
  [[nodiscard]] int decommit(slot_index first, std::uint32_t count) noexcept override;

 private:
  using state = atomic<slot_content>;

  [[nodiscard]] std::uintptr_t distance_to(const void* object) const noexcept {
    // The distance is computed on integers, because pointers into different arrays must not be
    // subtracted.
    return address_bits(object) - address_bits(first_);
  }
  slot_memory(const slot_layout& layout, std::uint32_t capacity, const parts& in) noexcept;

  std::byte* first_ = nullptr;
  zeroed_array<state> states_;  ///< one for each slot, or none at all
  slot_layout layout_;
  std::uint32_t capacity_;
  atomic<std::uint32_t> backed_{0};
  object_keeper* keeper_ = nullptr;
  address_space* addresses_ = nullptr;  ///< owned; null unless the slots grow
  std::byte* records_ = nullptr;
  bool is_placed_ = false;  ///< the slots are in memory of the program
};

/// The slots of one pool: owns their memory, manages the free ones, and throws errors that name the
/// pool.
class pool_slots {
 public:
  /// Throws std::invalid_argument with the name of the option, std::bad_array_new_length or
  /// std::bad_alloc.
  pool_slots(const object_pool_options& options, const slot_layout& layout);
  pool_slots(const pool_slots&) = delete;
  pool_slots& operator=(const pool_slots&) = delete;
  ~pool_slots();

  /// Adds the slots and objects that `options` require at the start. `keeper` is null if the pool
  /// keeps no objects. Throws growth_failed, and whatever `keeper` throws. Requires: `end` is
  /// called later, even if this throws.
  void begin(const object_pool_options& options, object_keeper* keeper);
  /// Aborts the program if threads or callbacks are waiting for a slot. If `reports_leak` is true,
  /// reports objects in use to the misuse handler. Takes all free slots, including those in other
  /// threads' caches (which it cannot inspect), and destroys the objects in these slots.
  void end(bool reports_leak) noexcept;

  [[nodiscard]] slot_memory& memory() noexcept { return memory_; }
  [[nodiscard]] const slot_memory& memory() const noexcept { return memory_; }
  // NOLINTBEGIN(cppcoreguidelines-pro-type-union-access): the union is for its time of life alone
  [[nodiscard]] slot_allocator& allocator() noexcept { return allocator_; }
  [[nodiscard]] const slot_allocator& allocator() const noexcept { return allocator_; }
  // NOLINTEND(cppcoreguidelines-pro-type-union-access)

  /// Waits for a slot or throws, as `when_full` requires. Called if there is no free slot.
  [[nodiscard]] void* acquire_blocking();
  /// Waits for a slot. Returns null if the deadline `until` passes first.
  [[nodiscard]] void* wait_for_slot(const deadline& until);
  /// Waits for a slot. Returns null if a stop is requested first.
  [[nodiscard]] void* wait_for_slot(const stop_token& stop);

  void reserve(std::size_t count);
  std::size_t shrink_to(std::size_t count) noexcept;

  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return allocator().capacity(); }
  [[nodiscard]] std::uint32_t max_capacity() const noexcept { return max_capacity_; }
  [[nodiscard]] bool grows() const noexcept { return when_full_ == when_full::grow; }
  [[nodiscard]] slot_pool_stats stats(bool counts_hits = false) const noexcept;
  [[nodiscard]] static std::size_t bytes_needed(const object_pool_options& options,
                                                const slot_layout& layout) noexcept;
  /// Returns the first problem that can be found without allocating memory.
  [[nodiscard]] static option_problem find_problem(const object_pool_options& options,
                                                   const slot_layout& layout) noexcept;

 private:
  /// Uses `own` to divide the memory of the program.
  pool_slots(const object_pool_options& options, const slot_layout& layout, memory_cursor own);
  [[nodiscard]] static memory_cursor parts_needed(const object_pool_options& options,
                                                  const slot_layout& layout) noexcept;
  void add(std::uint32_t count);
  [[noreturn]] void fail_to_grow(int error) const;

  // The first member, so that an acquire that hits the cache finds the allocator at the address of
  // the pool. In a union, so that the allocator can be constructed after the memory and destroyed
  // before the memory.
  union {
    slot_allocator allocator_;
  };
  std::uint32_t max_capacity_;  ///< before `piece_`: this initialiser checks the options
  memory_piece piece_;          ///< memory of the program; empty if the system's is used
  slot_memory memory_;
  std::string_view name_;  ///< owned by the allocator
  when_full when_full_;
  object_keeper* keeper_ = nullptr;  ///< null if the pool keeps no objects
  bool eager_ = false;               ///< `reserve` creates objects in the slots that it adds
  std::uint32_t forks_;              ///< number of forks before the pool was made
  std::size_t record_bytes_;         ///< bytes of a slot's record
  std::byte* entry_part_ = nullptr;  ///< memory of the program for `entry_`
  registration* entry_ = nullptr;    ///< owned; null if the pool is in no registry
};

}  // namespace detail
}  // namespace lido::inline v0
