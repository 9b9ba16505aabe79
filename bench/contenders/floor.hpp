/// @file
/// The floor: a bare array stack in thread-local storage. It shares nothing and checks no bounds,
/// which is the least cost without sharing.
#pragma once

#include <atomic>
#include <cstdint>

#include "contender.hpp"
#include "slab.hpp"

namespace lido_bench {

namespace detail {

struct array_stack {
  static constexpr std::size_t length{1024};
  std::size_t top;
  void* items[length];
};

// constinit: the compiler must know that there is nothing to construct, or every access would
// check.
inline constinit thread_local array_stack own_stack{};

}  // namespace detail

template <std::size_t Bytes>
class floor : public contender_defaults {
 public:
  static constexpr std::string_view name{"floor"};
  static constexpr bool crosses_threads{false};
  static constexpr bool never_fails{true};

  explicit floor(const sizing& size) : objects_{size.threads * detail::array_stack::length} {}

  class session {
   public:
    explicit session(floor& pool) {
      // Short-lived threads take turns at the same slices: no workload writes into an object.
      const std::size_t slices{pool.slices_.fetch_add(1, std::memory_order_relaxed)};
      const std::size_t first{slices * detail::array_stack::length % pool.objects_};
      for (std::size_t i{0}; i < detail::array_stack::length; ++i) {
        detail::own_stack.items[i] = pool.memory_[first + i];
      }
      detail::own_stack.top = detail::array_stack::length;
    }
    [[gnu::always_inline]] void* acquire() {
      return detail::own_stack.items[--detail::own_stack.top];
    }
    [[gnu::always_inline]] void release(void* object) {
      detail::own_stack.items[detail::own_stack.top++] = object;
    }
  };

 private:
  std::size_t objects_;
  slab<Bytes> memory_{objects_};
  std::atomic<std::size_t> slices_{0};  // relaxed everywhere: only hands out numbers
};

}  // namespace lido_bench
