/// @file
/// Internal. Finds a function of a user's class by its name.
#pragma once

#include <type_traits>

namespace lido::inline v0::detail {

/// The names that member functions of hooks and factories may have.
struct member_names {
  void create();
  void activate();
  void deactivate();
  void destroy();
  void validate();
  void reset();
  void is_clean_after();
  void interrupt();
  void on_insert();
  void on_erase();
  void on_move();
};

/// A class in which each of the `member_names` is ambiguous if C also has it.
template <class C>
struct member_probe : member_names {};
template <class C>
  requires(std::is_class_v<C> && !std::is_final_v<C>)
struct member_probe<C> : C, member_names {};

// A function is found by its name alone, however it is overloaded. A function with wrong parameters
// is therefore an error, and is not ignored. In a final class, only functions that are public and
// not overloaded are found. A name that a class inherits from two bases is ambiguous, so it counts
// as found.
#define LIDO_NAMES(function)             \
  template <class C>                     \
  concept names_##function = !requires { \
    &member_probe<C>::function;          \
  }                                      \
  || requires {                          \
    &C::function;                        \
  }
LIDO_NAMES(create);
LIDO_NAMES(activate);
LIDO_NAMES(deactivate);
LIDO_NAMES(destroy);
LIDO_NAMES(validate);
LIDO_NAMES(reset);
LIDO_NAMES(is_clean_after);
LIDO_NAMES(interrupt);
LIDO_NAMES(on_insert);
LIDO_NAMES(on_erase);
LIDO_NAMES(on_move);
#undef LIDO_NAMES

}  // namespace lido::inline v0::detail
