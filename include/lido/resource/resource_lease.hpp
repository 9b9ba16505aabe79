/// @file
/// Public. `resource_lease<R>`: has one resource of a pool and gives it back.
#pragma once

#include <chrono>
#include <type_traits>
#include <utility>

#include "lido/concurrency/parking.hpp"
#include "lido/resource/resource_short_way.hpp"
#include "lido/resource/typed_hooks.hpp"

namespace lido {

template <class R>
class resource_pool;

/// Owner of one resource while it is out; gives it back on destruction. Empty after a failed
/// `try_acquire`.
///
/// Move-only; two words. Not thread-safe itself, but may be moved to and destroyed in any thread,
/// also after the end of its pool: then the resource is destroyed instead. No function throws but
/// `detach`; giving back may run the factory's `reset` and `destroy`.
template <class R>
class [[nodiscard]] resource_lease {
  static_assert(std::is_nothrow_destructible_v<R>,
                "lido: resources are destroyed where nothing may throw");

 public:
  resource_lease() noexcept = default;
  resource_lease(resource_lease&& other) noexcept : grant_(std::exchange(other.grant_, {})) {
    if (grant_.slot != nullptr) {
      grant_.slot->forget_thread();  // whoever has it now need not be who acquired it
    }
  }
  /// The resource before is given back last, as it may hold `other`.
  resource_lease& operator=(resource_lease&& other) noexcept {
    resource_lease moved(std::move(other));
    std::swap(grant_, moved.grant_);
    return *this;
  }
  resource_lease(const resource_lease&) = delete;
  resource_lease& operator=(const resource_lease&) = delete;
  ~resource_lease() { reset(); }

  [[nodiscard]] explicit operator bool() const noexcept { return grant_.slot != nullptr; }
  [[nodiscard]] R* get() const noexcept {
    return grant_.slot != nullptr ? std::addressof(value()) : nullptr;
  }

  /// Requires: not empty.
  [[nodiscard]] R& operator*() const noexcept { return value(); }
  [[nodiscard]] R* operator->() const noexcept { return std::addressof(value()); }

  /// Gives the resource back now; the lease is empty afterwards. Nothing if it is empty already.
  void reset() noexcept {
    if (grant_.slot != nullptr) {
      const detail::resource_grant grant = std::exchange(grant_, {});
      grant.slot->core->give_back(grant);
    }
  }

  /// The resource is of no use any more: destroys it now, instead of giving it back.
  void discard() noexcept {
    if (grant_.slot != nullptr) {
      const detail::resource_grant grant = std::exchange(grant_, {});
      grant.slot->core->retire(grant, destroy_reason::discarded);
    }
  }

  /// Takes the resource out of the pool, which may make another in its place. The factory's
  /// `destroy` is not called for it. Throws what moving an R throws; then the lease still has it.
  /// Requires: not empty.
  [[nodiscard]] R detach() {
    R out(std::move(value()));
    const detail::resource_grant grant = std::exchange(grant_, {});
    static_cast<detail::typed_slot<R>*>(grant.slot)->value().~R();
    grant.slot->core->forget(grant);
    return out;
  }

  /// Names the resource for `kill`, as long as it lives. Requires: not empty.
  [[nodiscard]] resource_handle handle() const noexcept {
    return {.place = grant_.slot->number, .birth = grant_.ticket.birth()};
  }

  /// Reports of this lease as slow or leaked come later by that much, rounded up to 4 milliseconds;
  /// by twelve days at most, however often it is asked for. Requires: not empty.
  template <class Rep, class Period>
  void extend(std::chrono::duration<Rep, Period> by) noexcept {
    grant_.slot->extend(detail::deadline::bounded(by));
  }

  /// This lease is not reported as slow or leaked. Requires: not empty.
  void expect_long_use() noexcept { grant_.slot->exempt(); }

 private:
  friend class resource_pool<R>;
  explicit resource_lease(const detail::resource_grant& grant) noexcept : grant_(grant) {}

  [[nodiscard]] R& value() const noexcept {
    return static_cast<detail::typed_slot<R>*>(grant_.slot)->value();
  }

  detail::resource_grant grant_;
};

}  // namespace lido
