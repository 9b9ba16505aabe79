/// @file
/// Internal. Ensures that all files of a program use Lido with exceptions or that all use it
/// without them, since the templates differ. A program that mixes both does not link, and the
/// linker's message states the reason.
///
/// Every public header that contains templates includes this header. The library itself includes it
/// only when built without exceptions. A library built with exceptions serves both kinds of
/// programs.
#pragma once

#include "lido/platform/compiler.hpp"

#if LIDO_ELF
// NOLINTBEGIN(misc-definitions-in-headers)
extern "C" {
// Files with exceptions define one inline variable, and files without exceptions define another.
// Both variables have the same second name. Linkers merge equal inline variables together with
// their second names. They refuse to merge two different variables that have the same name.
#if defined(__cpp_exceptions)
/// Defined by the library if it was built with exceptions.
extern const char the_program_has_exceptions_but_lido_was_built_without_them;
[[LIDO_KEPT, LIDO_HIDDEN]] inline const char* lido_has_exceptions =
    &the_program_has_exceptions_but_lido_was_built_without_them;
[[LIDO_ALIAS("lido_has_exceptions"),
  LIDO_HIDDEN]] extern const char* lido_mixes_files_with_and_without_exceptions;
#else
[[LIDO_KEPT, LIDO_HIDDEN]] inline const char* lido_has_no_exceptions = nullptr;
[[LIDO_ALIAS("lido_has_no_exceptions"),
  LIDO_HIDDEN]] extern const char* lido_mixes_files_with_and_without_exceptions;
/// Tells a library that was built with exceptions that it must not throw any exception.
[[LIDO_WEAK, LIDO_VISIBLE]] extern const char lido_program_has_no_exceptions = 0;
#endif
}
// NOLINTEND(misc-definitions-in-headers)
#endif
