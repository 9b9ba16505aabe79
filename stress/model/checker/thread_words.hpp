/// @file
/// Stands in for `thread_local` in the library: all modelled threads run in one thread of the
/// system.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace model {

/// Words of which each thread has its own copy. The copies are exchanged as threads take turns.
class thread_words {
 public:
  /// The values of one thread, as differences (xor) from the initial values.
  using values = std::array<std::size_t, 3>;

  /// Registers a word. Called before a thread of an execution uses the word, and may be called
  /// again for the same word.
  template <class T>
  void keep(T& word) noexcept {
    static_assert(sizeof(T) == sizeof(std::size_t) && std::is_trivially_copyable_v<T>);
    for (std::size_t i = 0; i < places_.size() && places_[i] != &word; ++i) {
      if (places_[i] == nullptr) {
        places_[i] = &word;
        std::memcpy(&first_[i], &word, sizeof(std::size_t));
        return;
      }
    }
  }

  void save(values& into) const noexcept {
    for (std::size_t i = 0; i < places_.size() && places_[i] != nullptr; ++i) {
      std::memcpy(&into[i], places_[i], sizeof(std::size_t));
      into[i] ^= first_[i];
    }
  }
  void load(const values& from) const noexcept {
    for (std::size_t i = 0; i < places_.size() && places_[i] != nullptr; ++i) {
      const std::size_t value = from[i] ^ first_[i];
      std::memcpy(places_[i], &value, sizeof(std::size_t));
    }
  }

 private:
  std::array<void*, std::tuple_size_v<values>> places_{};
  values first_{};
};

}  // namespace model
