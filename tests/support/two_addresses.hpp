/// @file
/// A name with several addresses, and one whose lookup hangs, without a change to the files and
/// servers in which names are looked up.
#pragma once

namespace lido::test {

/// This name has the addresses in `first` of the current object, numeric and separated by commas,
/// and then 127.0.0.1.
inline constexpr const char* two_addresses_name = "two.invalid";

/// Makes that name exist in this process during its lifetime.
class two_addresses {
 public:
  explicit two_addresses(const char* first) noexcept;
  two_addresses(const two_addresses&) = delete;
  two_addresses& operator=(const two_addresses&) = delete;
  ~two_addresses();
};

/// Makes the lookup of this name hang during its lifetime. Its destructor waits for lookups under
/// way.
class hanging_name {
 public:
  static constexpr const char* text = "hangs.invalid";

  hanging_name() noexcept;
  hanging_name(const hanging_name&) = delete;
  hanging_name& operator=(const hanging_name&) = delete;
  ~hanging_name();
};

}  // namespace lido::test
