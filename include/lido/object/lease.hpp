/// @file
/// Public. `lease<T>`: owns one object of a pool and returns it.
#pragma once

#include <utility>

#include "lido/base/assert.hpp"
#include "lido/object/traits.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0 {

template <class T, class Traits = pool_traits<T>>
class object_pool;

/// Owns one acquired object and releases it on destruction. Empty after a failed `try_acquire`.
///
/// Every `object_pool<T>` has the same `lease<T>`, whatever its options. Move-only; two words. Not
/// thread-safe itself, but may be moved to and destroyed in any thread. Must not outlive its pool
/// unless empty. May be a member of T.
template <class T, class Traits = pool_traits<T>>
class [[nodiscard]] lease {
  using pool_type = object_pool<T, Traits>;

 public:
  lease() noexcept = default;
  lease(lease&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), pool_(other.pool_) {}
  /// Releases the previous object last, as it may contain `other`: `head = std::move(head->next)`
  /// pops a list.
  lease& operator=(lease&& other) noexcept {
    T* const before = std::exchange(object_, std::exchange(other.object_, nullptr));
    pool_type* const its_pool = std::exchange(pool_, other.pool_);
    if (before != nullptr) {
      its_pool->release(before);
    }
    return *this;
  }
  lease(const lease&) = delete;
  lease& operator=(const lease&) = delete;
  [[LIDO_FAST_PATH]] ~lease() { reset(); }

  [[nodiscard]] T* get() const noexcept { return object_; }
  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }

  /// Requires: not empty.
  [[nodiscard, LIDO_ASSERTS]] T& operator*() const noexcept {
    LIDO_ASSERT(object_ != nullptr, "an empty lease has no object");
    return *object_;
  }
  [[nodiscard, LIDO_ASSERTS]] T* operator->() const noexcept {
    LIDO_ASSERT(object_ != nullptr, "an empty lease has no object");
    return object_;
  }

  /// Releases the object now; the lease is empty afterwards. No effect if it is empty already.
  [[LIDO_FAST_PATH]] void reset() noexcept {
    if (object_ != nullptr) {
      pool_->release(std::exchange(object_, nullptr));
    }
  }

  /// Gives up ownership: the object stays acquired, and the caller must release it.
  [[nodiscard]] T* detach() noexcept { return std::exchange(object_, nullptr); }

 private:
  friend pool_type;
  lease(T* object, pool_type* pool) noexcept : object_(object), pool_(pool) {}

  T* object_ = nullptr;
  pool_type* pool_ = nullptr;
};

}  // namespace lido::inline v0
