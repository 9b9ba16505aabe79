/// @file
/// Public. `LIDO_ASSERT`: preconditions that are checked in debug builds.
///
/// `LIDO_ASSERTIONS` switches the checks on (1) or off (0). If it is not defined, the checks are on
/// unless `NDEBUG` is defined. Files with checks and files without them may be linked together, and
/// the library may be built either way. This works because no type, layout or exported symbol
/// depends on the mode.
#pragma once

#include "lido/platform/compiler.hpp"

#if !defined(LIDO_ASSERTIONS)
#if defined(NDEBUG)
#define LIDO_ASSERTIONS 0
#else
#define LIDO_ASSERTIONS 1
#endif
#endif

/// Called for each failed check with the text of the condition and a sentence that says what the
/// caller did wrong.
///
/// The default handler prints both to stderr, with file and line, and calls std::abort. A program
/// may define its own handler before it includes Lido; the handler must be the same in all files.
/// If the handler returns, the failed call continues as it would without checks.
#if !defined(LIDO_ASSERT_HANDLER)
#define LIDO_ASSERT_HANDLER(condition, message) \
  ::lido::detail::end_for_failed_assertion(condition, message, __FILE__, __LINE__)
#endif

#if LIDO_ASSERTIONS
/// Checks a precondition. The check must cost less than the function that it guards.
#define LIDO_ASSERT(condition, message)                           \
  static_cast<void>(!::lido::detail::hardly_ever(!(condition)) || \
                    ((LIDO_ASSERT_HANDLER(#condition, message)), false))
#else
#define LIDO_ASSERT(condition, message) static_cast<void>(0)
#endif

/// Marks an inline function of a header that contains `LIDO_ASSERT`, or that calls a function with
/// this mark. Files with checks and files without them then call separate versions of the function.
/// Functions that are always inlined need no mark. Used in a list of attributes.
#if LIDO_ASSERTIONS
#define LIDO_ASSERTS LIDO_ABI_TAG("lido_asserts")
#else
#define LIDO_ASSERTS
#endif

namespace lido::inline v0::detail {

/// Prints one line about a failed check to stderr and calls std::abort.
[[noreturn, LIDO_COLD]] void end_for_failed_assertion(const char* condition, const char* message,
                                                      const char* file, int line) noexcept;

}  // namespace lido::inline v0::detail
