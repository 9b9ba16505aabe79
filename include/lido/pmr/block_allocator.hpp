/// @file
/// Public. `block_allocator<T>`: a block_resource as an allocator for containers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "lido/pmr/block_resource.hpp"

namespace lido {

/// Allocator of a `std::list`, `std::map`, `std::unordered_map` or another container of nodes, with
/// its nodes in the blocks of one resource. As `std::pmr::polymorphic_allocator`, but without a
/// virtual call, and it moves along when a container is moved or swapped.
///
/// A pointer to the resource, which must outlive the container. Two are equal if they share it.
/// Thread-safe as far as the resource is.
template <class T>
class block_allocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  // NOLINTNEXTLINE(google-explicit-constructor): as containers take it: `list{resource}`
  block_allocator(block_resource& resource) noexcept : resource_(&resource) {}
  template <class U>
  // NOLINTNEXTLINE(google-explicit-constructor): containers rebind
  block_allocator(const block_allocator<U>& other) noexcept : resource_(other.resource()) {}

  /// Memory for `count` objects. Throws std::bad_array_new_length when that is too many for any
  /// memory, std::bad_alloc, and what upstream does.
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) [[unlikely]] {
      throw std::bad_array_new_length();
    }
    return static_cast<T*>(resource_->take(count * sizeof(T), alignof(T)));
  }

  /// Takes back what `allocate(count)` of an equal allocator gave, from any thread; ends no object.
  /// Progress: a block as release of an object_pool, what came from upstream as upstream.
  void deallocate(T* objects, std::size_t count) noexcept {
    resource_->give(objects, count * sizeof(T), alignof(T));
  }

  [[nodiscard]] block_resource* resource() const noexcept { return resource_; }

 private:
  block_resource* resource_;
};

template <class T, class U>
[[nodiscard]] bool operator==(const block_allocator<T>& left,
                              const block_allocator<U>& right) noexcept {
  return left.resource() == right.resource();
}

}  // namespace lido
