/// @file
/// Public. `share`: turns a lease into a std::shared_ptr.
#pragma once

#include <memory>
#include <utility>

#include "lido/object/lease.hpp"

namespace lido::inline v0 {

namespace detail {

/// Releases the object of a std::shared_ptr.
template <class T, class Traits>
struct lease_deleter {
  void operator()(T* /*object*/) noexcept { held.reset(); }

  lease<T, Traits> held;
};

}  // namespace detail

/// Returns a std::shared_ptr that owns the object of `from`. The object is released once its last
/// owner is gone. Returns null if `from` is empty. Allocates only the control block of the
/// std::shared_ptr. If that throws, the object is released. Requires: the owners do not outlive the
/// pool.
///
/// The result also converts to a std::shared_ptr of a base class of T. If T derives from
/// std::enable_shared_from_this, its `shared_from_this` works.
template <class T, class Traits>
[[nodiscard]] std::shared_ptr<T> share(lease<T, Traits> from) {
  T* const object = from.get();
  if (object == nullptr) {
    return nullptr;
  }
  return std::shared_ptr<T>(object, detail::lease_deleter<T, Traits>{std::move(from)});
}

}  // namespace lido::inline v0
