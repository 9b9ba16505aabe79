/// @file
/// A name with two addresses, without a change to the files and servers that names are looked up
/// in.
#pragma once

namespace lido::test {

/// The addresses of this name are `first` of the living one, an address in digits, and 127.0.0.1.
inline constexpr const char* two_addresses_name = "two.invalid";

/// While one lives there is that name, in this process.
class two_addresses {
 public:
  explicit two_addresses(const char* first) noexcept;
  two_addresses(const two_addresses&) = delete;
  two_addresses& operator=(const two_addresses&) = delete;
  ~two_addresses();
};

}  // namespace lido::test
