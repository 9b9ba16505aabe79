/// @file
/// Public. Policies of an object pool that say when its objects begin and end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "lido/base/error.hpp"
#include "lido/object/construction.hpp"
#include "lido/object/hooks.hpp"
#include "lido/object/kept_objects.hpp"
#include "lido/object/options.hpp"

namespace lido {

namespace detail {

/// The life cycle of `policy::construct_each_time`. `kept_objects` has the same interface; see
/// there.
template <class T>
class each_time {
 public:
  using hooks_type = no_hooks;

  template <class... Args>
  static constexpr bool makes_nothrow = detail::makes_nothrow<T, Args...>;

  constexpr each_time(std::uint32_t /*capacity*/, no_hooks /*hooks*/) noexcept {}

  static constexpr bool keeps = false;
  [[nodiscard]] static constexpr std::size_t memory() noexcept { return 0; }
  [[nodiscard]] static constexpr int extend_to(std::uint32_t /*slots*/) noexcept { return 0; }

  template <class... Parts>
  static void begin(const object_pool_options& options, const Parts&... /*parts*/) {
    if (options.creation == creation::eager) {
      throw_invalid_option(options.name, "creation is eager, but the pool keeps no objects");
    }
  }
  template <class... Parts>
  static constexpr void end(const Parts&... /*parts*/) noexcept {}

  template <class Slots>
  [[nodiscard]] static constexpr bool holds(const Slots& /*slots*/, void* /*slot*/) noexcept {
    return false;
  }
  [[nodiscard]] static std::size_t created(std::size_t in_use) noexcept { return in_use; }

  template <class Slots, class... Args>
  [[gnu::always_inline]] static T* make(const Slots& /*slots*/, void* slot,
                                        Args&&... args) noexcept(makes_nothrow<Args...>) {
    return detail::make<T>(slot, std::forward<Args>(args)...);
  }

  template <class Slots>
  [[nodiscard, gnu::always_inline]] static bool finish(const Slots& /*slots*/, T* object) noexcept {
    object->~T();
    return true;
  }
};

}  // namespace detail

namespace policy {

/// An acquire constructs the object from its arguments, the release destroys it. The default.
struct construct_each_time {
  static constexpr bool keeps = false;
  template <class T, template <class> class Array>
  using life_cycle = detail::each_time<T>;
};

/// An object is made once and kept when it is released, for the next acquire: for objects that are
/// expensive to make. Which of its free objects a pool gives is not said.
///
/// `Hooks` is a class with any of these, static or not; the pool has one `Hooks`, given to its
/// constructor, and calls it from all threads that use the pool, perhaps at once:
///  - `T create()`: a new object, as it is between uses. Otherwise: value-initialised.
///  - `void activate(T&, args...)`: at each acquire, with its arguments. Otherwise: nothing, and an
///    acquire takes no arguments.
///  - `void` or `bool deactivate(T&)`: at each release. False, or an exception, refuses the object:
///    it is destroyed, and the next acquire of the slot makes another. Otherwise: nothing.
///  - `void destroy(T&) noexcept`: before the destructor.
///
/// If `create` throws, the slot is free and holds no object. If `activate` throws, the object is
/// destroyed, without a call to `deactivate`. Either error reaches the caller of the acquire. A
/// thread that is cancelled (pthread_cancel) in one of the two leaves the same behind; in
/// `deactivate`, `destroy` and ~T it ends the program, since a release is noexcept: they must have
/// no cancellation point, or disable cancellation (pthread_setcancelstate) around it.
/// With `policy::grow` the objects of a segment that is given back are destroyed. Costs one byte a
/// slot. Progress: as without, but for the hooks.
template <class Hooks = no_hooks>
struct keep_constructed {
  static constexpr bool keeps = true;
  template <class T, template <class> class Array>
  using life_cycle = detail::kept_objects<T, Hooks, Array>;
};

}  // namespace policy
}  // namespace lido
