/// @file
/// Internal. A set of slots, with one bit for each slot of a pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "lido/base/assert.hpp"
#include "lido/base/slot_index.hpp"

namespace lido::inline v0::detail {

/// A fixed number of zeros.
///
/// Allocates memory without `new`, because a user's new-handler or `operator new` may use the pool
/// whose slots are stored.
template <class T>
class zeros {
 public:
  explicit zeros(std::size_t size) noexcept
      // One item more, because null means for an array of no items that there was no memory.
      // NOLINTNEXTLINE(*-no-malloc)
      : items_(static_cast<T*>(std::calloc(size + 1, sizeof(T))), free_memory{true}) {}
  /// Writes the zeros to `memory`, which is for `size` items and outlives this object.
  zeros(std::size_t size, void* memory) noexcept
      : items_(static_cast<T*>(std::memset(memory, 0, size * sizeof(T))), free_memory{false}) {}

  /// Returns false if there was no memory.
  [[nodiscard]] bool is_valid() const noexcept { return items_ != nullptr; }
  [[nodiscard]] T& operator[](std::size_t at) const noexcept { return items_[at]; }

 private:
  struct free_memory {
    bool is_owner = true;
    void operator()(void* memory) const noexcept {
      if (is_owner) {
        std::free(memory);  // NOLINT(*-no-malloc)
      }
    }
  };

  std::unique_ptr<T[], free_memory> items_;
};

/// Records free slots that a thread has taken out of an allocator.
class slot_set {
 public:
  using word = std::uint64_t;
  static constexpr std::uint32_t slots_in_word = 64;

  /// Allocates memory for the slots below `slots`.
  explicit slot_set(std::size_t slots) noexcept : words_(words_for(slots)), bits_(words_) {}
  /// Uses `memory` for the slots below `slots`. Requires: `memory` has bytes_needed(slots) bytes,
  /// is aligned for `word`, and outlives the set.
  slot_set(std::size_t slots, void* memory) noexcept
      : words_(words_for(slots)), bits_(words_, memory) {}

  [[nodiscard]] static constexpr std::size_t bytes_needed(std::size_t slots) noexcept {
    return words_for(slots) * sizeof(word);
  }

  /// Returns false if there was no memory.
  [[nodiscard]] bool is_valid() const noexcept { return bits_.is_valid(); }

  void insert(slot_index slot) noexcept {
    LIDO_ASSERT(!contains(slot), "a free slot is stored twice");
    bits_[slot / slots_in_word] |= bit_of(slot);
  }
  [[nodiscard]] bool contains(slot_index slot) const noexcept {
    return (bits_[slot / slots_in_word] & bit_of(slot)) != 0;
  }

  [[nodiscard]] std::size_t words() const noexcept { return words_; }
  [[nodiscard]] word word_at(std::size_t at) const noexcept { return bits_[at]; }

 private:
  [[nodiscard]] static constexpr std::size_t words_for(std::size_t slots) noexcept {
    return (slots + slots_in_word - 1) / slots_in_word;
  }
  [[nodiscard]] static word bit_of(slot_index slot) noexcept {
    return word{1} << slot % slots_in_word;
  }

  std::size_t words_;
  zeros<word> bits_;
};

}  // namespace lido::inline v0::detail
