/// @file
/// A host name with several addresses, and a host name whose lookup hangs. They need no changes to
/// the files and servers in which names are looked up.
#pragma once

namespace lido::test {

/// A name with the addresses in `first` of the current `two_addresses` object, and then 127.0.0.1.
/// The addresses in `first` are numeric and separated by commas.
inline constexpr const char* two_addresses_name = "two.invalid";

/// Makes `two_addresses_name` exist in this process during the object's lifetime.
class two_addresses {
 public:
  explicit two_addresses(const char* first) noexcept;
  two_addresses(const two_addresses&) = delete;
  two_addresses& operator=(const two_addresses&) = delete;
  ~two_addresses();
};

/// Makes the lookup of `text` hang during the object's lifetime. The destructor waits for lookups
/// that are under way.
class hanging_name {
 public:
  static constexpr const char* text = "hangs.invalid";

  hanging_name() noexcept;
  hanging_name(const hanging_name&) = delete;
  hanging_name& operator=(const hanging_name&) = delete;
  ~hanging_name();
};

}  // namespace lido::test
