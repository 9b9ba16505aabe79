/// @file
/// Internal. The text of a report, built where memory may be short and no exception may be thrown.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/debug/code_address.hpp"

namespace lido::inline v0::detail {

/// Builds the text of a report on the stack. Text that does not fit is cut off.
class report_text {
 public:
  report_text& operator<<(std::string_view text) noexcept;
  report_text& operator<<(std::unsigned_integral auto number) noexcept {
    return append(number, 10);
  }
  report_text& hex(std::uintptr_t number) noexcept { return (*this << "0x").append(number, 16); }

  /// Appends a text such as `server+0x1a2b`: the module that contains the code, and the offset of
  /// the code in that module.
  report_text& where(code_address at) noexcept;

  /// Appends a text such as `thread 7 'main'`, or `some thread` if `id` is 0. The name is missing
  /// if the thread has ended, since the system no longer knows it.
  report_text& thread(std::uint32_t id) noexcept;

  /// Appends one line for each module in the report: the command that translates its addresses into
  /// source lines.
  report_text& commands() noexcept;

  [[nodiscard]] std::string_view view() const noexcept { return {buffer_.data(), size_}; }

 private:
  struct module_offset {
    const void* address;
    const void* module;
    std::uintptr_t offset;
  };

  report_text& append(std::uint64_t number, int base) noexcept;

  std::array<char, 6144> buffer_;
  std::size_t size_ = 0;
  std::array<module_offset, 16> noted_;
  std::size_t noted_count_ = 0;
};

}  // namespace lido::inline v0::detail
