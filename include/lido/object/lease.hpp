/// @file
/// Public. `lease<T>`: owns one object of a pool and returns it.
#pragma once

#include <compare>
#include <cstddef>
#include <string_view>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/object/traits.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0 {

template <class T, class Traits = pool_traits<T>>
class object_pool;

/// Owns one acquired object and releases it on destruction. A failed `try_acquire` returns an empty
/// lease.
///
/// Every `object_pool<T>` has the same `lease<T>`, whatever its options. A lease is move-only and
/// has the size of two pointers. It is not thread-safe, but it may be moved to another thread and
/// destroyed there. A non-empty lease must not outlive its pool. A T may have a `lease<T>` as a
/// member, but such a lease must be empty when `release_all` of its pool is called. Leases are
/// compared by the addresses of their objects.
template <class T, class Traits = pool_traits<T>>
class [[nodiscard]] lease {
  using pool_type = object_pool<T, Traits>;

 public:
  lease() noexcept = default;
  /// Makes an empty lease.
  // NOLINTNEXTLINE(google-explicit-constructor): as for pointers
  lease(std::nullptr_t /*null*/) noexcept {}
  /// Takes over the object of `other`, which is then empty.
  lease(lease&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), pool_(other.pool_) {}
  /// Releases the previous object last, because that object may contain `other`. For example, the
  /// assignment `head = std::move(head->next)` pops the first element of a list.
  [[LIDO_ASSERTS]] lease& operator=(lease&& other) noexcept {
    T* const before = std::exchange(object_, std::exchange(other.object_, nullptr));
    pool_type* const its_pool = std::exchange(pool_, other.pool_);
    if (before != nullptr) {
      its_pool->release(before);
    }
    return *this;
  }
  /// Releases the object, if the lease has one.
  [[LIDO_ASSERTS]] lease& operator=(std::nullptr_t /*null*/) noexcept {
    reset();
    return *this;
  }
  lease(const lease&) = delete;
  lease& operator=(const lease&) = delete;
  [[LIDO_FAST_PATH, LIDO_ASSERTS]] ~lease() { reset(); }

  /// Returns the object's address, or nullptr if the lease is empty.
  [[nodiscard]] T* get() const noexcept { return object_; }
  /// Returns true if the lease owns an object.
  [[nodiscard]] explicit operator bool() const noexcept { return object_ != nullptr; }

  /// Returns the object. Requires: the lease is not empty.
  [[nodiscard, LIDO_ASSERTS]] T& operator*() const noexcept {
    LIDO_ASSERT(object_ != nullptr, "an empty lease has no object");
    return *object_;
  }
  /// Accesses a member of the object. Requires: the lease is not empty.
  [[nodiscard, LIDO_ASSERTS]] T* operator->() const noexcept {
    LIDO_ASSERT(object_ != nullptr, "an empty lease has no object");
    return object_;
  }

  /// Releases the object now. The lease is empty afterwards. Has no effect on an empty lease.
  [[LIDO_FAST_PATH, LIDO_ASSERTS]] void reset() noexcept {
    if (object_ != nullptr) {
      pool_->release(std::exchange(object_, nullptr));
    }
  }

  /// Gives up ownership and returns the object. The object stays acquired, and the caller must
  /// release it.
  [[nodiscard]] T* detach() noexcept { return std::exchange(object_, nullptr); }

  void swap(lease& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(pool_, other.pool_);
  }
  friend void swap(lease& left, lease& right) noexcept { left.swap(right); }

  /// Returns true if both leases own the same object, or none.
  [[nodiscard]] friend bool operator==(const lease& left, const lease& right) noexcept {
    return left.object_ == right.object_;
  }
  /// Returns true if the lease is empty.
  [[nodiscard]] friend bool operator==(const lease& left, std::nullptr_t /*null*/) noexcept {
    return left.object_ == nullptr;
  }
  /// Orders leases by the addresses of their objects.
  [[nodiscard]] friend std::strong_ordering operator<=>(const lease& left,
                                                        const lease& right) noexcept {
    return std::compare_three_way()(left.object_, right.object_);
  }

 private:
  friend pool_type;
  lease(T* object, pool_type* pool) noexcept : object_(object), pool_(pool) {}

  T* object_ = nullptr;
  pool_type* pool_ = nullptr;
};

}  // namespace lido::inline v0

/// Hashes the address of the object, so the hash of a lease is that of its `get()`.
template <class T, class Traits>
struct std::hash<lido::lease<T, Traits>> {
  [[nodiscard]] std::size_t operator()(const lido::lease<T, Traits>& lease) const noexcept {
    return std::hash<T*>()(lease.get());
  }
};
