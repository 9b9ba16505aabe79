/// @file
/// Internal. The one header that throws, besides those of integrations. A build without exceptions
/// needs other bodies for these functions and no others.
#pragma once

#include <cstddef>
#include <string_view>

namespace lido::detail {

/// For errors that only one layer knows.
template <class Error>
[[noreturn]] void throw_error(const Error& error) {
  throw error;
}

// Out of line, so that templates stay small.

/// std::bad_alloc.
[[noreturn]] void throw_bad_alloc();

/// std::bad_array_new_length: the size of an array is no number.
[[noreturn]] void throw_bad_array_length();

/// std::length_error.
[[noreturn]] void throw_length_error(const char* problem);

/// std::invalid_argument that names the pool.
[[noreturn]] void throw_invalid_option(std::string_view pool_name, std::string_view problem);

/// lido::pool_exhausted.
[[noreturn]] void throw_pool_exhausted(std::string_view pool_name, std::size_t capacity,
                                       std::size_t in_use);

/// lido::growth_failed. `error_number`: what the system said, as in errno.
[[noreturn]] void throw_growth_failed(std::string_view pool_name, std::size_t capacity,
                                      std::size_t in_use, int error_number);

}  // namespace lido::detail
