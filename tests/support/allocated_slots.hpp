/// @file
/// Untyped slots, and their allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lido/allocator/slot_allocator.hpp"
#include "lido/base/huge_pages.hpp"

namespace lido::test {

class allocated_slots {
 public:
  using list = std::vector<void*>;
  static constexpr std::size_t stride = 64;

  allocated_slots(std::uint32_t capacity, cache_kind caches, std::uint32_t max_cached = 512)
      : memory_(stride * capacity, 64),
        capacity_(capacity),
        pool_({.geometry = detail::slot_geometry(memory_.data(), stride),
               .capacity = capacity,
               .caches = caches,
               .max_cached = max_cached}) {}

  [[nodiscard]] detail::slot_allocator& pool() { return pool_; }

  [[nodiscard]] bool owns(const void* slot) const {
    const auto distance =
        reinterpret_cast<std::uintptr_t>(slot) - reinterpret_cast<std::uintptr_t>(memory_.data());
    return distance < stride * capacity_ && distance % stride == 0;
  }

  /// Acquires slots one by one, up to `most` slots.
  [[nodiscard]] list acquire_n(std::size_t most) {
    list all;
    while (all.size() < most) {
      void* const slot = pool_.acquire();
      if (slot == nullptr) {
        break;
      }
      all.push_back(slot);
    }
    return all;
  }

  [[nodiscard]] list acquire_all() { return acquire_n(capacity_ + std::size_t{1}); }

  void release_all(const list& all) {
    for (void* const slot : all) {
      pool_.release(slot);
    }
  }

 private:
  detail::aligned_buffer memory_;
  std::uint32_t capacity_;
  detail::slot_allocator pool_;
};

}  // namespace lido::test
