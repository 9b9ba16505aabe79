/// @file
/// Public. `pmr_source`: a std::pmr::memory_resource as a source of memory for pools.
#pragma once

#include <cstddef>
#include <limits>
#include <memory_resource>

#include "lido/base/assert.hpp"
#include "lido/base/memory_source.hpp"

namespace lido::inline v0 {

/// Gives memory of a std::pmr::memory_resource to pools, as in `.memory = &source`.
///
/// Thread-safe if the resource is. Requires: the resource outlives this object. A resource that
/// never reuses memory, such as std::pmr::monotonic_buffer_resource, also serves maps that grow,
/// but each growth then uses more of it.
class pmr_source final : public memory_source {
 public:
  /// Makes a source that allocates from `resource`. Requires: `resource` is not null.
  [[LIDO_ASSERTS]] explicit pmr_source(std::pmr::memory_resource* resource) noexcept
      : resource_(resource) {
    LIDO_ASSERT(resource != nullptr, "a source of memory without a memory_resource");
  }

  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) override {
    return resource_->allocate(bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    resource_->deallocate(memory, bytes, alignment);
  }
  /// Returns SIZE_MAX, because a memory_resource does not say how much memory it has.
  [[nodiscard]] std::size_t available(std::size_t /*alignment*/) const noexcept override {
    return (std::numeric_limits<std::size_t>::max)();
  }
  [[nodiscard]] bool can_grow() const noexcept override { return true; }

  /// Returns the memory resource.
  [[nodiscard]] std::pmr::memory_resource* resource() const noexcept { return resource_; }

 private:
  std::pmr::memory_resource* resource_;
};

}  // namespace lido::inline v0
