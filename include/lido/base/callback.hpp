/// @file
/// Internal. Type-erased callables: `completion` owns a callable and calls it once; `callable_ref`
/// refers to a callable. This header costs less to include than <functional>.
#pragma once

#include <type_traits>
#include <utility>

#include "lido/platform/compiler.hpp"  // refuses C++17

namespace lido::inline v0::detail {

/// A callable that accepts one argument. Pointers to members are excluded.
template <class F, class Argument>
concept takes = requires(F& callable, Argument argument) {
  callable(argument);
};

/// A callable that can be null, such as a function pointer or a std::function.
template <class F>
concept may_be_nothing = std::is_pointer_v<F> || requires(F& callable) {
  callable = nullptr;
  static_cast<bool>(callable == nullptr);
};

/// A callback that is called once with a Result, while no lock is held. Move-only.
template <class Result>
class completion {
 public:
  template <class F>
  explicit completion(F f)
      : f_(new F(std::move(f))),
        end_([](void* made) noexcept { delete static_cast<F*>(made); }),
        call_([](void* made, Result&& result) noexcept {
          (*static_cast<F*>(made))(std::move(result));
        }) {}
  completion(completion&& other) noexcept
      : f_(std::exchange(other.f_, nullptr)), end_(other.end_), call_(other.call_) {}
  completion(const completion&) = delete;
  completion& operator=(const completion&) = delete;
  completion& operator=(completion&&) = delete;
  ~completion() {
    if (f_ != nullptr) {
      end_(f_);
    }
  }

  void operator()(Result result) noexcept { call_(f_, std::move(result)); }

 private:
  void* f_;
  void (*end_)(void* f) noexcept;
  void (*call_)(void* f, Result&& result) noexcept;
};

/// A reference to a callable. Requires: the callable outlives the reference.
template <class... Arguments>
class callable_ref {
 public:
  template <class F>
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the callable
  explicit(false) callable_ref(const F& f) noexcept
      : f_(&f), call_([](const void* callable, Arguments... arguments) {
          (*static_cast<const F*>(callable))(std::forward<Arguments>(arguments)...);
        }) {}

  void operator()(Arguments... arguments) const {
    call_(f_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* f_;
  void (*call_)(const void* f, Arguments... arguments);
};

}  // namespace lido::inline v0::detail
