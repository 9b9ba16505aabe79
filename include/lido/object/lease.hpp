/// @file
/// Public. `lease<T>`: owns one object of a pool and returns it.
#pragma once

#include <utility>

#include "lido/object/traits.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0 {

template <class T, class Traits = pool_traits<T>>
class object_pool;

/// Owner of one acquired object; gives it back on destruction. Empty after a failed `try_acquire`.
///
/// `lease<T>` is that of every `object_pool<T>`, whatever its options. Move-only; two words. Not
/// thread-safe itself, but may be moved to and destroyed in any thread. Must not outlive its pool
/// unless empty. May be a member of T.
template <class T, class Traits = pool_traits<T>>
class [[nodiscard]] lease {
  using pool_type = object_pool<T, Traits>;

 public:
  lease() noexcept = default;
  lease(lease&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), pool_(other.pool_) {}
  /// The object before is given back last, as it may hold `other`: a list is popped by
  /// `head = std::move(head->next)`.
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
  [[LIDO_ALWAYS_INLINE]] ~lease() { reset(); }

  [[nodiscard]] T* get() const noexcept { return object_; }
  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }

  /// Requires: not empty.
  [[nodiscard]] T& operator*() const noexcept { return *object_; }
  [[nodiscard]] T* operator->() const noexcept { return object_; }

  /// Gives the object back now; the lease is empty afterwards. Nothing if it is empty already.
  [[LIDO_ALWAYS_INLINE]] void reset() noexcept {
    if (object_ != nullptr) {
      pool_->release(std::exchange(object_, nullptr));
    }
  }

  /// Lets go without giving back: the object stays acquired, and the caller has to release it.
  [[nodiscard]] T* detach() noexcept { return std::exchange(object_, nullptr); }

 private:
  friend pool_type;
  lease(T* object, pool_type* pool) noexcept : object_(object), pool_(pool) {}

  T* object_ = nullptr;
  pool_type* pool_ = nullptr;
};

}  // namespace lido::inline v0
