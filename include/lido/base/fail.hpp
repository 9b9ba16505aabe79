/// @file
/// Internal. The only header that throws and catches exceptions, apart from headers of
/// integrations.
#pragma once

#include <cstddef>
#include <exception>
#include <initializer_list>
#include <string_view>

namespace lido::inline v0::detail {

/// Returns true if all files are compiled with exceptions; see exceptions_agree.hpp.
[[nodiscard]] bool may_throw() noexcept;

/// Calls the handler of `set_failure_handler`, prints `what()` and aborts.
[[noreturn]] void end_for_failure(const std::exception& failure) noexcept;

/// Throws `error`, whose type only one layer needs to know. In a program without exceptions, ends
/// the program.
template <class Error>
[[noreturn]] void throw_error(const Error& error) {
#if defined(__cpp_exceptions)
  if (may_throw()) {
    throw error;
  }
#endif
  end_for_failure(error);
}

/// Returns the result of `body`. If `body` throws, returns the result of `failed`, which is called
/// while the exception is being handled. Without exceptions, only `body` is called.
template <class Body, class Failed>
decltype(auto) attempt(const Body& body, [[maybe_unused]] const Failed& failed) noexcept {
#if defined(__cpp_exceptions)
  try {
    return body();
  } catch (...) {
    return failed();
  }
#else
  return body();
#endif
}

/// Returns the result of `body`. If `body` throws an `Error`, returns the result of
/// `failed(error)`. Without exceptions, only `body` is called.
template <class Error, class Body, class Failed>
auto attempt_except(const Body& body, [[maybe_unused]] const Failed& failed) {
#if defined(__cpp_exceptions)
  try {
    return body();
  } catch (const Error& error) {
    return failed(error);
  }
#else
  return body();
#endif
}

/// Returns the result of `body`. If `body` throws a std::exception, calls `note(exception)` and
/// rethrows the exception.
template <class Body, class Note>
decltype(auto) note_exception(const Body& body, [[maybe_unused]] const Note& note) {
#if defined(__cpp_exceptions)
  try {
    return body();
  } catch (const std::exception& thrown) {
    note(thrown);
    throw;
  }
#else
  return body();
#endif
}

// For coroutines, which cannot pass a `co_await` to note_exception: LIDO_TRY { ... }
// LIDO_NOTE_EXCEPTION(note). Calls `note(exception)` and rethrows the exception.
#if defined(__cpp_exceptions)
#define LIDO_TRY try
#define LIDO_NOTE_EXCEPTION(note)           \
  catch (const std::exception& exception) { \
    (note)(exception);                      \
    throw;                                  \
  }
#else
#define LIDO_TRY
#define LIDO_NOTE_EXCEPTION(note)
#endif

// These functions are out of line, so that templates stay small.

/// Throws std::bad_alloc.
[[noreturn]] void throw_bad_alloc();

/// Throws a std::bad_alloc whose message contains the name of the pool, unless it is empty, and the
/// number of bytes that could not be allocated.
[[noreturn]] void throw_no_memory(std::string_view pool_name, std::size_t bytes);

/// Throws std::bad_array_new_length, for an array whose size overflows.
[[noreturn]] void throw_bad_array_length();
/// Throws a std::bad_array_new_length whose message contains the name of the pool and `problem`.
[[noreturn]] void throw_size_overflow(std::string_view pool_name, std::string_view problem);

/// Throws std::length_error.
[[noreturn]] void throw_length_error(const char* problem);

/// Throws a std::invalid_argument whose message names the pool.
[[noreturn]] void throw_invalid_option(std::string_view pool_name, std::string_view problem);

/// If `is_wrong` is true, throws a std::invalid_argument whose message names the pool. Only then
/// are the parts of `problem` joined, so a pool with correct options requests no memory for them.
void refuse_option_if(bool is_wrong, std::string_view pool_name,
                      std::initializer_list<std::string_view> problem);

/// Throws std::invalid_argument if `value` is less than `least` or more than `most`. The message
/// names the pool, the option and the value.
void check_option(std::string_view pool_name, std::string_view option, std::size_t value,
                  std::size_t least, std::size_t most);

/// Throws lido::pool_exhausted.
[[noreturn]] void throw_pool_exhausted(std::string_view pool_name, std::size_t capacity,
                                       std::size_t in_use);

/// Throws lido::growth_failed with the system's `error_number`, as in errno.
[[noreturn]] void throw_growth_failed(std::string_view pool_name, std::size_t capacity,
                                      std::size_t in_use, int error_number);

}  // namespace lido::inline v0::detail
