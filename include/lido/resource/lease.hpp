/// @file
/// Public. `resource_lease<R>`, which owns one resource of a pool and gives it back.
/// `acquire_result<R>`, the result of an acquire that does not throw.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/base/durations.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/concurrency/parking.hpp"
#include "lido/resource/pool_core.hpp"

namespace lido::inline v0 {

namespace detail {
template <class Derived, class R, bool has_key>
class acquire_forms;
struct lease_access;
}  // namespace detail

/// Owns one resource while it is in use, and gives it back on destruction.
///
/// A lease that ends because of an exception discards its resource, which may be in the middle of
/// an operation. To detect this, a lease compares the number of active exceptions at its end with
/// the number at its beginning. If the lease ends in another thread, or was moved off the stack,
/// any active exception counts. A lease that ends after a `catch` gives its resource back.
/// Move-only, not thread-safe. A lease may outlive its pool, and then destroys the resource. R may
/// be incomplete where a lease is a member of a class.
template <class R>
class [[nodiscard]] resource_lease {
 public:
  resource_lease() noexcept = default;
  /// Takes over the resource of `other`, which is then empty.
  resource_lease(resource_lease&& other) noexcept : grant_(std::exchange(other.grant_, {})) {
    note_moved();
  }
  /// Gives the previous resource back last, since that resource may own `other`.
  [[LIDO_ASSERTS]] resource_lease& operator=(resource_lease&& other) noexcept {
    resource_lease moved(std::move(other));
    std::swap(grant_, moved.grant_);
    note_moved();
    return *this;
  }
  resource_lease(const resource_lease&) = delete;
  resource_lease& operator=(const resource_lease&) = delete;
  [[LIDO_ASSERTS]] ~resource_lease() { reset(); }

  /// Returns true if the lease owns a resource.
  [[nodiscard]] explicit operator bool() const noexcept { return grant_.slot != nullptr; }
  /// Returns true if the lease is empty.
  [[nodiscard]] friend bool operator==(const resource_lease& lease,
                                       std::nullptr_t /*null*/) noexcept {
    return !lease;
  }
  /// Returns the address of the resource, or nullptr if the lease is empty.
  [[nodiscard, LIDO_ASSERTS]] R* get() const noexcept {
    return grant_.slot != nullptr ? std::addressof(value()) : nullptr;
  }
  /// Returns the resource. Requires: the lease is not empty. The functions below also require this,
  /// unless they say otherwise.
  [[nodiscard, LIDO_ASSERTS]] R& operator*() const noexcept { return value(); }
  /// Accesses a member of the resource.
  [[nodiscard, LIDO_ASSERTS]] R* operator->() const noexcept { return std::addressof(value()); }

  /// Gives the resource back now; the lease is empty afterwards. Does nothing if the lease is
  /// already empty.
  [[LIDO_ASSERTS]] void reset() noexcept {
    if (grant_.slot != nullptr) {
      const detail::slot_grant grant = std::exchange(grant_, {});
      grant.slot->record.cache->release(grant);
    }
  }
  /// Has the pool destroy the resource instead of giving it back. Does nothing if the lease is
  /// empty.
  void discard() noexcept {
    if (grant_.slot != nullptr) {
      const detail::slot_grant grant = std::exchange(grant_, {});
      grant.slot->record.cache->core()->discard(grant);
    }
  }
  /// Removes the resource from the pool and returns it. The pool may create another resource in its
  /// place. The factory's `destroy` is not called for the resource. If an `interrupt` of the
  /// resource is in progress, waits until it has returned. Throws whatever moving an R throws. If
  /// it throws, the lease still owns the resource.
  [[nodiscard, LIDO_ASSERTS]] R detach() {
    detail::pool_core& core = *slot().record.cache->core();
    core.begin_detach(*grant_.slot);
    detail::scope_exit give_up([&] { core.give_up_detach(*grant_.slot); });
    R out(std::move(value()));
    give_up.dismiss();
    const detail::slot_grant grant = std::exchange(grant_, {});
    static_cast<detail::typed_pool_slot<R>*>(grant.slot)->value().~R();
    core.detach(grant);
    return out;
  }

  /// Makes the lease give the resource back even if it ends because of an exception.
  [[LIDO_ASSERTS]] void keep() noexcept { slot().lease.unwinding.set(detail::lease_record::kept); }
  /// Makes the lease discard its resource unless `keep` is called. Meant for coroutines that may be
  /// destroyed while they are suspended in the middle of a use.
  [[LIDO_ASSERTS]] void discard_unless_kept() noexcept {
    slot().lease.unwinding.set(detail::lease_record::unless_kept);
  }
  /// Returns the handle of the resource for `kill`. The handle is valid as long as the resource
  /// lives.
  [[nodiscard, LIDO_ASSERTS]] resource_handle handle() const noexcept {
    return {.index = slot().number, .birth = grant_.ticket.birth()};
  }
  /// Returns the time since the resource was created, as of the last tick of the pool.
  [[nodiscard, LIDO_ASSERTS]] std::chrono::nanoseconds age() const noexcept {
    const detail::nanos now = slot().record.cache->gate().now();
    return std::chrono::nanoseconds(detail::passed_since(slot().ages.born.get(), now));
  }
  /// Returns the number of uses before this one.
  [[nodiscard, LIDO_ASSERTS]] std::uint64_t uses() const noexcept { return slot().uses() - 1; }
  /// Returns true if this is the first use of the resource.
  [[nodiscard, LIDO_ASSERTS]] bool is_new() const noexcept { return uses() == 0; }

  /// Delays the reports that call this lease slow or leaked. `by` is added to the previous delay.
  template <class Rep, class Period>
  [[LIDO_ASSERTS]] void extend(std::chrono::duration<Rep, Period> by) noexcept {
    slot().extend(detail::deadline::bounded(by).count());
  }
  template <detail::unitless Number>
  void extend(Number) = delete;  // rejects a number without a unit
  /// Keeps this lease from being reported as slow or leaked.
  [[LIDO_ASSERTS]] void expect_long_use() noexcept { slot().extend(detail::never); }

 private:
  /// Forgets the holder if the lease has left its thread or the stack, since any thread may now use
  /// the lease.
  void note_moved() noexcept {
    if (grant_.slot != nullptr && (grant_.slot->lease.thread.get() != detail::this_thread_id() ||
                                   !detail::is_near_in_stack(this))) {
      grant_.slot->lease.thread.set(0);
    }
  }
  template <class, class, bool>
  friend class detail::acquire_forms;
  template <class>
  friend class acquire_result;
  friend struct detail::lease_access;

  explicit resource_lease(const detail::slot_grant& grant) noexcept : grant_(grant) {}
  [[nodiscard, LIDO_ASSERTS]] detail::pool_slot& slot() const noexcept {
    LIDO_ASSERT(grant_.slot != nullptr, "an empty lease has no resource");
    return *grant_.slot;
  }
  [[nodiscard, LIDO_ASSERTS]] R& value() const noexcept {
    return static_cast<detail::typed_pool_slot<R>&>(slot()).value();
  }

  detail::slot_grant grant_;
};

namespace detail {

/// Gives code of the library access to the grant of a lease.
struct lease_access {
  template <class R>
  [[nodiscard]] static const slot_grant& grant_of(const resource_lease<R>& lease) noexcept {
    return lease.grant_;
  }
};

}  // namespace detail

/// The result of an acquire that does not throw: a lease, or the reason why there is none.
template <class R>
class [[nodiscard]] acquire_result {
 public:
  /// Type of the lease.
  using lease_type = resource_lease<R>;

  /// Internal: makes the result of an acquire.
  explicit acquire_result(detail::acquire_outcome outcome) noexcept
      : lease_(outcome.grant), cause_(outcome.cause), why_(std::move(outcome.why)) {}

  /// Returns true if there is a lease.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(lease_); }
  /// Returns the resource. Requires: there is a lease.
  [[nodiscard, LIDO_ASSERTS]] R& operator*() const noexcept { return *lease_; }
  /// Accesses a member of the resource. Requires: there is a lease.
  [[nodiscard, LIDO_ASSERTS]] R* operator->() const noexcept { return lease_.operator->(); }
  /// Returns the lease, which is empty if the acquire failed.
  [[nodiscard]] lease_type& lease() noexcept { return lease_; }
  /// Returns the cause of the failure. Requires: there is no lease.
  [[nodiscard, LIDO_ASSERTS]] acquire_failure failure() const noexcept {
    LIDO_ASSERT(!lease_, "an acquire that succeeded has no failure");
    return cause_;
  }
  /// Returns the failure as an exception that contains the statistics of the pool. Throws
  /// std::bad_alloc. Requires: there is no lease.
  [[nodiscard, LIDO_ASSERTS]] acquire_error error() const {
    LIDO_ASSERT(!lease_, "an acquire that succeeded has no error");
    const auto none = std::make_shared<acquire_error::details>();
    none->cause = cause_;
    return acquire_error(why_ != nullptr ? why_ : none);
  }
  /// Moves the lease out of the result; throws `error()` if there is no lease.
  [[nodiscard, LIDO_ASSERTS]] lease_type value() {
    if (!lease_) {
      detail::throw_error(error());
    }
    return lease_type(std::exchange(lease_.grant_, {}));
  }

 private:
  lease_type lease_;
  acquire_failure cause_;
  std::shared_ptr<const acquire_error::details> why_;
};

}  // namespace lido::inline v0
