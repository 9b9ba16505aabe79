/// @file
/// Public. `keyed_lease<R>`: has one resource of a keyed pool and gives it back.
#pragma once

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

#include "lido/concurrency/parking.hpp"
#include "lido/resource/key_share.hpp"
#include "lido/resource/typed_hooks.hpp"

namespace lido {

template <class Key, class R, class Hash>
class keyed_resource_pool;

/// Owner of one resource while it is out; gives it back on destruction. Empty after a failed
/// `try_acquire`.
///
/// Move-only. Not thread-safe itself, but may be moved to and destroyed in any thread, also after
/// the end of its pool: then the resource is destroyed instead. No function throws but `detach`;
/// giving back may run the factory's `reset` and `destroy`, also those of other keys.
template <class R>
class [[nodiscard]] keyed_lease {
  static_assert(std::is_nothrow_destructible_v<R>,
                "lido: resources are destroyed where nothing may throw");

 public:
  keyed_lease() noexcept = default;
  keyed_lease(keyed_lease&& other) noexcept
      : total_(std::move(other.total_)),
        share_(std::exchange(other.share_, nullptr)),
        grant_(std::exchange(other.grant_, {})) {
    if (grant_.slot != nullptr) {
      grant_.slot->forget_thread();
    }
  }
  /// The resource before is given back last, as it may hold `other`.
  keyed_lease& operator=(keyed_lease&& other) noexcept {
    keyed_lease moved(std::move(other));
    std::swap(total_, moved.total_);
    std::swap(share_, moved.share_);
    std::swap(grant_, moved.grant_);
    return *this;
  }
  keyed_lease(const keyed_lease&) = delete;
  keyed_lease& operator=(const keyed_lease&) = delete;
  ~keyed_lease() { reset(); }

  [[nodiscard]] explicit operator bool() const noexcept { return grant_.slot != nullptr; }
  [[nodiscard]] R* get() const noexcept {
    return grant_.slot != nullptr ? std::addressof(value()) : nullptr;
  }

  /// Requires: not empty.
  [[nodiscard]] R& operator*() const noexcept { return value(); }
  [[nodiscard]] R* operator->() const noexcept { return std::addressof(value()); }

  /// Gives the resource back now; the lease is empty afterwards. Nothing if it is empty already.
  void reset() noexcept { end(&detail::total_share::give_back); }

  /// The resource is of no use any more: destroys it now, instead of giving it back.
  void discard() noexcept { end(&detail::total_share::retire); }

  /// Takes the resource out of the pool, which may make another in its place. The factory's
  /// `destroy` is not called for it. Throws what moving an R throws; then the lease still has it.
  /// Requires: not empty.
  [[nodiscard]] R detach() {
    R out(std::move(value()));
    value().~R();
    end(&detail::total_share::forget);
    return out;
  }

  /// Names the resource for `kill`, among those of its key. Requires: not empty.
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
  template <class Key, class Resource, class Hash>
  friend class keyed_resource_pool;
  using ending = void (detail::total_share::*)(detail::key_share&,
                                               const detail::resource_grant&) noexcept;

  keyed_lease(std::shared_ptr<detail::total_share> total, detail::key_share& share,
              const detail::resource_grant& grant) noexcept
      : total_(std::move(total)), share_(&share), grant_(grant) {}

  void end(ending how) noexcept {
    if (grant_.slot != nullptr) {
      const auto total = std::move(total_);  // may be the last one
      ((*total).*how)(*std::exchange(share_, nullptr), std::exchange(grant_, {}));
    }
  }

  [[nodiscard]] R& value() const noexcept {
    return static_cast<detail::typed_slot<R>*>(grant_.slot)->value();
  }

  std::shared_ptr<detail::total_share> total_;
  detail::key_share* share_ = nullptr;
  detail::resource_grant grant_;
};

}  // namespace lido
