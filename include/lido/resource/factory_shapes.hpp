/// @file
/// Internal. Compile errors for factories with functions that a pool would not find.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "lido/base/error.hpp"
#include "lido/base/nothing_to_call.hpp"
#include "lido/resource/factory.hpp"

namespace lido::detail {

// A function is looked up by its name alone, however it is overloaded, so that one with wrong
// parameters is an error and not ignored: a name that a class inherits from two bases is ambiguous.
struct factory_names {
  void create();
  void validate();
  void reset();
  void destroy();
};
template <class F>
concept factory_base = std::is_class_v<F> && !std::is_final_v<F>;

template <class F>
struct factory_probe : factory_names {};
template <factory_base F>
struct factory_probe<F> : F, factory_names {};

template <class F>
concept names_its_create = !requires {
  &factory_probe<F>::create;
};
template <class F>
concept names_its_validate = !requires {
  &factory_probe<F>::validate;
};
template <class F>
concept names_its_reset = !requires {
  &factory_probe<F>::reset;
};
template <class F>
concept names_its_destroy = !requires {
  &factory_probe<F>::destroy;
};

// Of a final class only what is public and has one form can be seen.
template <class F>
concept shows_its_create = requires {
  &F::create;
};
template <class F>
concept shows_its_validate = requires {
  &F::validate;
};
template <class F>
concept shows_its_reset = requires {
  &F::reset;
};
template <class F>
concept shows_its_destroy = requires {
  &F::destroy;
};
template <class F>
concept has_create = names_its_create<F> || shows_its_create<F>;
template <class F>
concept has_validate = names_its_validate<F> || shows_its_validate<F>;
template <class F>
concept has_reset = names_its_reset<F> || shows_its_reset<F>;
template <class F>
concept has_destroy = names_its_destroy<F> || shows_its_destroy<F>;

template <class F, class R>
concept resets_without_a_word = requires(F& factory, R& resource) {
  { factory.reset(resource) } -> std::same_as<void>;
};

/// Refuses to be instantiated for an F that has one of the names and would be treated as if it had
/// not. What makes an R is for the pool's own concept; here it must not be passed over.
template <class F, class R, bool creates_by_name>
struct fitting_factory {
  static_assert(creates_by_name || !has_create<F>,
                "lido: create of a resource factory must be a public R create() or R create(const "
                "create_context&), with a const Key& in front for a keyed_resource_pool");
  static_assert(validates<F, R> || validates_with_context<F, R> || !has_validate<F>,
                "lido: validate of a resource factory must be a public bool validate(R&) or bool "
                "validate(R&, const create_context&), without a key");
  static_assert(may_refuse<F, R> || resets_without_a_word<F, R> || !has_reset<F>,
                "lido: reset of a resource factory must be a public void reset(R&) or bool "
                "reset(R&), without a key");
  static_assert(destroys<F, R> || !has_destroy<F>,
                "lido: destroy of a resource factory must be a public void destroy(R&, "
                "destroy_reason) noexcept, without a key");
};

/// Refuses to be instantiated, for an F that makes nothing. A pool's constructor alone would say
/// that no operand of a disjunction is satisfied.
template <class F>
struct factory_without_create {
  static_assert(!std::is_same_v<F, F>,
                "lido: a resource factory must be a function R(), or have a public R create() or R "
                "create(const create_context&); with a const Key& in front for a "
                "keyed_resource_pool. R is the type of the pool's resources");
};

/// Throws std::invalid_argument if there is nothing to call.
template <class F>
void refuse_nothing(std::string_view pool, const char* role, const F& callable) {
  if (is_nothing(callable)) {
    throw_invalid_option(pool, std::string(role) + " is a function that is null");
  }
}

}  // namespace lido::detail
