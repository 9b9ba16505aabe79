#!/bin/sh
# Prints a header in the form that Doxygen understands: it takes an inline namespace for the outer one, and macros in
# attributes for names. The bases of pools leave their inner namespace, so that each pool lists their functions.
bases=
case $1 in
  */acquire_forms.hpp | */async_forms.hpp | */resource_pool.hpp) bases='s/namespace lido::inline v0::detail/namespace lido/; s/^namespace detail \{/extern "C++" {/' ;;
esac
# Doxygen does not follow using-declarations.
case $1 in
  */slot_map.hpp) bases='s/using core::(compact|shrink_to_fit);/void \1();/; s/using core::reserve;/void reserve(std::size_t count);/' ;;
esac
exec sed -E -e "$bases" -e 's/detail::(pool_controls|acquire_forms|async_forms)/\1/g' -e 's/namespace lido::inline v0/namespace lido/' \
  -e 's/LIDO_(FAST_PATH|SLOW_PATH|ASSERTS|ALWAYS_INLINE|NOINLINE|NO_UNIQUE_ADDRESS|COLD),? ?//g' \
  -e 's/, ?\]\]/]]/; s/\[\[ ?\]\] ?//' -e 's/explicit\(false\)//' "$1"
