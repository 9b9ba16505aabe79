/// @file
/// An upstream memory resource that refuses every request by an exception that is no
/// std::bad_alloc.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <stdexcept>

namespace lido::test {

class failing_upstream final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t /*bytes*/, std::size_t /*alignment*/) override {
    throw std::runtime_error("upstream's own");
  }
  void do_deallocate(void* /*address*/, std::size_t /*bytes*/, std::size_t /*align*/) override {}
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

}  // namespace lido::test
