/// @file
/// Internal. The memory of a `concurrent_slot_map`, from the system or from the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>

#include "lido/base/address_space.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/base/memory_piece.hpp"
#include "lido/base/option_problem.hpp"
#include "lido/slot_map/concurrent_options.hpp"
#include "lido/slot_map/slot_state.hpp"
#include "lido/slot_map/walk_block.hpp"

namespace lido::inline v0::detail {

/// Size and alignment of a value.
struct value_layout {
  std::size_t size;
  std::size_t alignment;
};

/// Owns the memory of the values, of their states and of the walk blocks. Neither makes nor
/// destroys values.
class concurrent_map_memory {
 public:
  /// Throws std::invalid_argument if an option is wrong or if `options.memory` has too few bytes,
  /// std::bad_array_new_length if a size overflows, or std::bad_alloc. Both name the map.
  concurrent_map_memory(const concurrent_slot_map_options& options, const value_layout& value)
      : count_(checked_count(options, value)),
        piece_(options.memory,
               options.memory == nullptr ? memory_cursor() : parts_needed(options, value),
               options.name, own_) {
    if (own_.has_memory()) {
      values_ = own_.take(value.size * count_, value.alignment);
      states_ = static_cast<slot_state*>(
          static_cast<void*>(own_.take(count_ * sizeof(slot_state), alignof(slot_state))));
      blocks_ = static_cast<walk_block*>(static_cast<void*>(
          own_.take(count_blocks(count_) * sizeof(walk_block), alignof(walk_block))));
      std::uninitialized_value_construct_n(states_, count_);
      std::uninitialized_value_construct_n(blocks_, count_blocks(count_));
      return;
    }
    space_.emplace(value.size * count_, value.alignment, options.name);
    own_states_.reset(new (std::nothrow) slot_state[count_]());
    own_blocks_.reset(new (std::nothrow) walk_block[count_blocks(count_)]());
    if (own_states_ == nullptr || own_blocks_ == nullptr ||
        space_->commit(0, space_->size()) != 0) {
      throw_no_memory(options.name, parts_needed(options, value).bytes());
    }
    values_ = space_->data();
    states_ = own_states_.get();
    blocks_ = own_blocks_.get();
  }

  [[nodiscard]] std::byte* values() const noexcept { return values_; }
  [[nodiscard]] slot_state* states() const noexcept { return states_; }
  [[nodiscard]] walk_block* blocks() const noexcept { return blocks_; }
  /// Returns the rest of the memory of the program, or null for memory of the system.
  [[nodiscard]] memory_cursor* own() noexcept { return own_.has_memory() ? &own_ : nullptr; }

  /// Returns the number of blocks that `count` slots have.
  [[nodiscard]] static constexpr std::uint32_t count_blocks(std::uint32_t count) noexcept {
    return count / walk_block::size + (count % walk_block::size != 0 ? 1 : 0);
  }

  /// Returns what a map needs from a memory_source. Each part is taken here in the same order as in
  /// the constructors of this class and of the map. Requires: the options are valid.
  [[nodiscard]] static memory_cursor parts_needed(const concurrent_slot_map_options& options,
                                                  const value_layout& value) noexcept {
    const auto count = static_cast<std::uint32_t>(options.max_size);
    memory_cursor all;
    (void)all.take(value.size * count, value.alignment);
    (void)all.take(count * sizeof(slot_state), alignof(slot_state));
    (void)all.take(count_blocks(count) * sizeof(walk_block), alignof(walk_block));
    slot_allocator::take_tables(all, count, options.name.size());
    return all;
  }

  /// Returns the first problem that can be found without allocating memory.
  [[nodiscard]] static option_problem find_problem(const concurrent_slot_map_options& options,
                                                   const value_layout& value) noexcept {
    if (option_problem found = out_of_range("max_size", options.max_size, 1, max_capacity)) {
      return found;
    }
    if (option_problem found =
            out_of_range("max_cached", options.max_cached, 0, slot_cache::most_items)) {
      return found;
    }
    if (options.max_size > PTRDIFF_MAX / value.size) {
      return {option_problem::kind::size, {"the size of all values overflows"}};
    }
    return options.memory != nullptr
               ? too_little_memory(options.memory, parts_needed(options, value))
               : option_problem();
  }

 private:
  static std::uint32_t checked_count(const concurrent_slot_map_options& options,
                                     const value_layout& value) {
    throw_if(find_problem(options, value), options.name);
    return static_cast<std::uint32_t>(options.max_size);
  }

  std::uint32_t count_;
  memory_cursor own_;
  memory_piece piece_;
  std::optional<address_space> space_;
  std::unique_ptr<slot_state[]> own_states_;
  std::unique_ptr<walk_block[]> own_blocks_;
  std::byte* values_ = nullptr;
  slot_state* states_ = nullptr;
  walk_block* blocks_ = nullptr;
};

}  // namespace lido::inline v0::detail
