/// @file
/// Internal. All files of a program use Lido with exceptions, or all without: the templates differ.
/// A program that mixes both does not link, and the linker names the reason.
///
/// Every public header of templates includes this. The library itself does so only when it is built
/// without exceptions. Built with them, it serves both kinds of programs.
#pragma once

#if defined(__ELF__)
// NOLINTBEGIN(misc-definitions-in-headers,cppcoreguidelines-avoid-non-const-global-variables)
extern "C" {
// Each kind of file has an inline variable of its own, and a second name for it that both kinds
// share. Linkers merge equal inline variables, second names included, and refuse to merge two names
// of different ones.
#if defined(__cpp_exceptions)
/// The library has this if it was built with exceptions.
extern const char the_program_has_exceptions_but_lido_was_built_without_them;
[[gnu::used, gnu::retain, gnu::visibility("hidden")]] inline const char* lido_has_exceptions =
    &the_program_has_exceptions_but_lido_was_built_without_them;
[[gnu::alias("lido_has_exceptions"),
  gnu::visibility("hidden")]] extern const char* lido_mixes_files_with_and_without_exceptions;
#else
[[gnu::used, gnu::retain, gnu::visibility("hidden")]] inline const char* lido_has_no_exceptions =
    nullptr;
[[gnu::alias("lido_has_no_exceptions"),
  gnu::visibility("hidden")]] extern const char* lido_mixes_files_with_and_without_exceptions;
/// Tells a library that was built with exceptions to throw none.
[[gnu::weak, gnu::visibility("default")]] extern const char lido_program_has_no_exceptions = 0;
#endif
}
// NOLINTEND(misc-definitions-in-headers,cppcoreguidelines-avoid-non-const-global-variables)
#endif
