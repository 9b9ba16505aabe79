/// @file
/// Public. `option_problem`: why no pool can be made with given options.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace lido::inline v0 {

class memory_source;

namespace detail {
class memory_cursor;
struct pool_maker;
}  // namespace detail

/// Describes why no pool can be made with given options, or states that nothing prevents it.
/// Contains its text, so making and copying it allocates nothing.
class option_problem {
 public:
  /// Kinds of problems. The constructor of the pool throws std::invalid_argument for `option`,
  /// std::bad_array_new_length for `size`, and std::bad_alloc for `memory`.
  enum class kind : std::uint8_t {
    none,    ///< a pool can be made
    option,  ///< an option is wrong, or options contradict each other
    size,    ///< the size in bytes overflows
    memory   ///< the system has no memory
  };

  /// Makes an object that states no problem.
  constexpr option_problem() noexcept = default;

  /// Makes a problem. Joins the parts of `text`, and cuts the text off after 223 bytes.
  option_problem(kind what, std::initializer_list<std::string_view> text) noexcept;

  /// Returns true if there is a problem.
  [[nodiscard]] explicit operator bool() const noexcept { return what_ != kind::none; }
  /// Returns the kind of the problem.
  [[nodiscard]] kind what() const noexcept { return what_; }
  /// Returns a sentence without the name of the pool, or an empty text if there is no problem. The
  /// text ends with a zero byte, which is not counted.
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  kind what_ = kind::none;
  std::uint8_t size_ = 0;
  std::array<char, 224> text_{};
};

namespace detail {

/// The digits of a number, for a text.
class digits {
 public:
  explicit digits(std::size_t number) noexcept;
  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 24> text_;
  std::size_t size_;
};

/// Returns a problem if `value` is less than `least` or more than `most`.
[[nodiscard]] option_problem out_of_range(std::string_view option, std::size_t value,
                                          std::size_t least, std::size_t most) noexcept;

/// Returns a problem if `source` has fewer bytes than `needed` needs. `source` may be null.
[[nodiscard]] option_problem too_little_memory(const memory_source* source,
                                               const memory_cursor& needed) noexcept;

/// Throws the exception that belongs to the kind of `problem`. Has no effect if there is no
/// problem.
void throw_if(const option_problem& problem, std::string_view pool_name);

}  // namespace detail
}  // namespace lido::inline v0
