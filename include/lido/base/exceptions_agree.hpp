/// @file
/// Internal. Makes all files of a program use Lido with exceptions, or all without: the templates
/// differ. A program that mixes both does not link, and the linker names the reason.
///
/// Every public header of templates includes this. The library itself does so only when it is built
/// without exceptions. Built with them, it serves both kinds of programs.
#pragma once

#include "lido/platform/compiler.hpp"

#if LIDO_ELF
// NOLINTBEGIN(misc-definitions-in-headers)
extern "C" {
// Each kind of file has its own inline variable, and both kinds share a second name for it. Linkers
// merge equal inline variables with their second names, and refuse to merge one name of two
// different variables.
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
/// Tells a library that was built with exceptions to throw none.
[[LIDO_WEAK, LIDO_VISIBLE]] extern const char lido_program_has_no_exceptions = 0;
#endif
}
// NOLINTEND(misc-definitions-in-headers)
#endif
