/// @file
/// What is `thread_local` in the library: all threads of the model run in one of the system.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace model {

/// Words of which each thread has its own. They are exchanged as threads take turns.
class thread_words {
 public:
  /// What one thread has in them; at first zero.
  using values = std::array<std::size_t, 3>;

  /// Once or several times for each word, before a thread of an execution uses it.
  template <class T>
  void keep(T& word) noexcept {
    static_assert(sizeof(T) == sizeof(std::size_t) && std::is_trivially_copyable_v<T>);
    for (void*& place : places_) {
      if (place == nullptr || place == &word) {
        place = &word;
        return;
      }
    }
  }

  void save(values& into) const noexcept {
    for (std::size_t i = 0; i < places_.size() && places_[i] != nullptr; ++i) {
      std::memcpy(&into[i], places_[i], sizeof(std::size_t));
    }
  }
  void load(const values& from) const noexcept {
    for (std::size_t i = 0; i < places_.size() && places_[i] != nullptr; ++i) {
      std::memcpy(places_[i], &from[i], sizeof(std::size_t));
    }
  }

 private:
  std::array<void*, std::tuple_size_v<values>> places_{};
};

}  // namespace model
