/// @file
/// Internal. Asks addr2line(1) which line of source an address belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lido::detail {

/// Empty parts where nothing is known.
class source_line {
 public:
  source_line() = default;
  source_line(std::string_view function, std::string_view file) noexcept;

  [[nodiscard]] std::string_view function() const noexcept { return function_.data(); }
  [[nodiscard]] std::string_view file() const noexcept { return file_.data(); }
  [[nodiscard]] bool function_known() const noexcept { return function_[0] != '\0'; }
  [[nodiscard]] bool file_known() const noexcept { return file_[0] != '\0'; }

 private:
  std::array<char, 256> function_{};
  std::array<char, 256> file_{};
};

/// The innermost line that is not one of this library's own headers, whose functions are inlined
/// into those of its users. Runs another program, and waits for it for at most some seconds.
[[nodiscard]] source_line find_line(const char* path, std::uintptr_t offset) noexcept;

}  // namespace lido::detail
