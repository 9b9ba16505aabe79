#include "report_text.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "../platform/platform.hpp"
#include "lido/platform/compiler.hpp"

#if defined(LIDO_VALGRIND) && LIDO_VALGRIND
#include <valgrind/valgrind.h>
#define LIDO_ON_VALGRIND RUNNING_ON_VALGRIND
#else
#define LIDO_ON_VALGRIND 0
#endif

namespace lido::inline v0::detail {

constinit thread_local std::uint32_t checked_thread_id = 0;

namespace {

/// Resets the id in the child of a fork: its thread has a new id, but inherits the value of this
/// variable.
LIDO_RUN_AT_LOAD(1001, forget_id_in_children);
void forget_id_in_children() noexcept {
  (void)platform::on_fork(nullptr, nullptr, [] { checked_thread_id = 0; });
}

using path_buffer = std::array<char, 1024>;

/// Returns the path of the file that contains the code at `address`; empty if the path is unknown.
std::string_view module_path(const void* address, path_buffer& buffer) noexcept {
  return {buffer.data(), platform::module_path(address, buffer)};
}

}  // namespace

#if LIDO_IS_DLL
std::uint32_t& checked_thread_id_of_this_thread() noexcept {
  return checked_thread_id;
}
#endif

std::uint32_t learn_thread_id() noexcept {
  const std::uint32_t id = platform::thread_id();
  checked_thread_id = LIDO_ON_VALGRIND != 0 ? 0 : id;
  return id;
}

report_text& report_text::operator<<(std::string_view text) noexcept {
  const std::size_t size = (std::min)(text.size(), buffer_.size() - size_);
  std::copy_n(text.data(), size, buffer_.data() + size_);
  size_ += size;
  return *this;
}

/// Converts the number in a separate buffer: if its digits did not fit into the report,
/// std::to_chars would leave garbage there.
report_text& report_text::append(std::uint64_t number, int base) noexcept {
  std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 1> digits;
  const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), number, base);
  return *this << std::string_view(digits.data(),
                                   static_cast<std::size_t>(done.ptr - digits.data()));
}

report_text& report_text::where(code_address at) noexcept {
  const platform::code_position code = platform::find_code(at.address);
  if (code.module == nullptr) {
    return *this << "an unknown code address";
  }
  if (noted_count_ < noted_.size()) {
    noted_.at(noted_count_++) = {at.address, code.module, code.offset};
  }
  path_buffer buffer;
  const std::string_view path = module_path(at.address, buffer);
  return (*this << path.substr(path.rfind('/') + 1) << "+").hex(code.offset);
}

report_text& report_text::thread(std::uint32_t id) noexcept {
  if (id == 0) {
    return *this << "some thread";
  }
  *this << "thread " << id;
  std::array<char, 64> name{};
  if (const std::size_t size = platform::thread_name(id, name); size > 0) {
    *this << " '" << std::string_view(name.data(), size) << "'";
  }
  return *this;
}

// NOLINTNEXTLINE(readability-function-size): nested loops over modules and code addresses
report_text& report_text::commands() noexcept {
  path_buffer buffer;
  const module_offset* const begin = noted_.data();
  const module_offset* const end = begin + noted_count_;
  for (const module_offset* each = begin; each != end; ++each) {
    const auto same_module = [each](const module_offset& one) {
      return one.module == each->module;
    };
    if (std::find_if(begin, each, same_module) != each) {
      continue;
    }
    *this << "  " << platform::names().lines_command << " " << module_path(each->address, buffer);
    for (const module_offset* one = each; one != end; ++one) {
      if (same_module(*one)) {
        (*this << " ").hex(one->offset);
      }
    }
    *this << "\n";
  }
  return *this;
}

}  // namespace lido::inline v0::detail
