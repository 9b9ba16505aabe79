/// @file
/// A name with several addresses, and one whose lookup hangs, without a change to the files and
/// servers that names are looked up in.
#pragma once

namespace lido::test {

/// The addresses of this name are `first` of the living one, which are addresses in digits with
/// commas between them, and 127.0.0.1, in this order.
inline constexpr const char* two_addresses_name = "two.invalid";

/// While one lives there is that name, in this process.
class two_addresses {
 public:
  explicit two_addresses(const char* first) noexcept;
  two_addresses(const two_addresses&) = delete;
  two_addresses& operator=(const two_addresses&) = delete;
  ~two_addresses();
};

/// While one lives, the lookup of this name does not end. Its end waits for those under way.
class hanging_name {
 public:
  static constexpr const char* text = "hangs.invalid";

  hanging_name() noexcept;
  hanging_name(const hanging_name&) = delete;
  hanging_name& operator=(const hanging_name&) = delete;
  ~hanging_name();
};

}  // namespace lido::test
