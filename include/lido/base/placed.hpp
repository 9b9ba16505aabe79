/// @file
/// Internal. Ownership of objects that may lie in memory of the program.
#pragma once

#include <memory>
#include <new>
#include <utility>

#include "lido/base/memory_cursor.hpp"

namespace lido::inline v0::detail {

/// Destroys an object. Also frees its memory, unless that belongs to the program.
struct end_placed {
  bool is_placed = false;
  template <class T>
  void operator()(T* object) const noexcept {
    if (is_placed) {
      std::destroy_at(object);
    } else {
      delete object;
    }
  }
};

/// Owns an object that `make_placed` made.
template <class T>
using placed_ptr = std::unique_ptr<T, end_placed>;

/// Makes an object in the next part of `memory`, or in memory of the system if `memory` is null.
/// Throws whatever T's constructor throws, and std::bad_alloc.
template <class T, class... Args>
[[nodiscard]] placed_ptr<T> make_placed(memory_cursor* memory, Args&&... args) {
  if (memory == nullptr) {
    return placed_ptr<T>(new T(std::forward<Args>(args)...));
  }
  return {::new (memory->take(sizeof(T), alignof(T))) T(std::forward<Args>(args)...),
          end_placed{.is_placed = true}};
}

}  // namespace lido::inline v0::detail
