#include "lido/base/error.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "../platform/platform.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/option_problem.hpp"
#include "lido/platform/compiler.hpp"

#if defined(__cpp_exceptions) && !LIDO_ELF
bool lido::detail::may_throw() noexcept {
  return true;  // no file of the program can report that it is built without exceptions
}
#elif defined(__cpp_exceptions)
extern "C" {
extern const char the_program_has_exceptions_but_lido_was_built_without_them;
const char the_program_has_exceptions_but_lido_was_built_without_them = 0;
/// Defined by the files of a program that is compiled without exceptions.
[[LIDO_WEAK]] extern const char lido_program_has_no_exceptions;
}
bool lido::detail::may_throw() noexcept {
  return &lido_program_has_no_exceptions == nullptr;
}
#else
#include "lido/base/exceptions_agree.hpp"
bool lido::detail::may_throw() noexcept {
  return false;
}
#endif

namespace lido::inline v0 {

namespace {

constinit detail::platform::static_mutex handler_mutex;
constinit failure_handler current_failure_handler = nullptr;  ///< guarded by handler_mutex

std::string used_up(std::size_t in_use, std::size_t capacity) {
  return std::to_string(in_use) + " of " + std::to_string(capacity) + " slots are in use";
}

/// An error about the memory of a pool. `Base` is std::bad_alloc or a class derived from it.
/// Contains its text, and therefore allocates nothing.
template <class Base>
class memory_error final : public Base {
 public:
  memory_error(std::string_view pool_name, const option_problem& problem) noexcept
      : text_(problem.what(),
              {"lido: ", pool_name.empty() ? "" : "pool '", pool_name.substr(0, longest_name),
               pool_name.empty() ? "" : "': ", problem.text()}) {}
  [[nodiscard]] const char* what() const noexcept override { return text_.text().data(); }

 private:
  static constexpr std::size_t longest_name = 100;  // leaves space for the rest of the text

  option_problem text_;
};

}  // namespace

pool_exhausted::pool_exhausted(std::string_view pool_name, std::size_t capacity, std::size_t in_use)
    : pool_exhausted(
          "lido: pool '" + std::string(pool_name) + "' is exhausted: " + used_up(in_use, capacity),
          pool_name, capacity, in_use) {}

pool_exhausted::pool_exhausted(const std::string& text, std::string_view pool_name,
                               std::size_t capacity, std::size_t in_use)
    : std::runtime_error(text),
      name_(std::string(pool_name)),
      capacity_(capacity),
      in_use_(in_use) {}

growth_failed::growth_failed(std::string_view pool_name, std::size_t capacity, std::size_t in_use,
                             int error_number)
    : pool_exhausted("lido: pool '" + std::string(pool_name) +
                         "' cannot grow: " + detail::platform::names().commit + ": " +
                         std::generic_category().message(error_number) + "; " +
                         used_up(in_use, capacity),
                     pool_name, capacity, in_use),
      error_number_(error_number) {}

no_block::no_block(std::string_view resource_name, std::size_t bytes, std::size_t alignment,
                   std::size_t blocks, std::size_t in_use)
    // NOLINTNEXTLINE(bugprone-throw-keyword-missing): it initialises a member
    : text_("lido: block_resource '" + std::string(resource_name) + "' has no block for " +
            std::to_string(bytes) + " bytes aligned to " + std::to_string(alignment) + ": " +
            (blocks != 0
                 ? std::to_string(in_use) + " of " + std::to_string(blocks) + " blocks are in use"
                 : "none is large or aligned enough, and upstream has no memory")),
      // NOLINTNEXTLINE(bugprone-throw-keyword-missing): as above
      name_(std::string(resource_name)),
      bytes_(bytes),
      alignment_(alignment),
      in_use_(in_use) {}

failure_handler set_failure_handler(failure_handler handler) noexcept {
  const std::lock_guard guard(handler_mutex);
  return std::exchange(current_failure_handler, handler);
}

void detail::end_for_failure(const std::exception& failure) noexcept {
  handler_mutex.lock();
  const failure_handler handler = current_failure_handler;
  handler_mutex.unlock();
  if (handler != nullptr) {
    handler(failure);
  }
  (void)std::fprintf(stderr, "%s\n", failure.what());
  std::abort();
}

void detail::throw_bad_alloc() {
  throw_error(std::bad_alloc());
}

void detail::throw_no_memory(std::string_view pool_name, std::size_t bytes) {
  throw_error(memory_error<std::bad_alloc>(
      pool_name,
      {option_problem::kind::memory, {"no memory for ", digits(bytes).view(), " bytes"}}));
}

void detail::throw_bad_array_length() {
  throw_error(std::bad_array_new_length());
}

void detail::throw_size_overflow(std::string_view pool_name, std::string_view problem) {
  throw_error(
      memory_error<std::bad_array_new_length>(pool_name, {option_problem::kind::size, {problem}}));
}

void detail::throw_length_error(const char* problem) {
  throw_error(std::length_error(problem));
}

void detail::throw_invalid_option(std::string_view pool_name, std::string_view problem) {
  throw_error(std::invalid_argument("lido: pool '" + std::string(pool_name) +
                                    "': " + std::string(problem)));
}

void detail::refuse_option_if(bool is_wrong, std::string_view pool_name,
                              std::initializer_list<std::string_view> problem) {
  if (!is_wrong) {
    return;
  }
  std::string text;
  for (const std::string_view part : problem) {
    text += part;
  }
  throw_invalid_option(pool_name, text);
}

void detail::check_option(std::string_view pool_name, std::string_view option, std::size_t value,
                          std::size_t least, std::size_t most) {
  if (value >= least && value <= most) {
    return;
  }
  const std::string limits =
      least == 0 ? " is more than " : " is not between " + std::to_string(least) + " and ";
  throw_invalid_option(
      pool_name, std::string(option) + " " + std::to_string(value) + limits + std::to_string(most));
}

void detail::throw_pool_exhausted(std::string_view pool_name, std::size_t capacity,
                                  std::size_t in_use) {
  throw_error(pool_exhausted(pool_name, capacity, in_use));
}

void detail::throw_growth_failed(std::string_view pool_name, std::size_t capacity,
                                 std::size_t in_use, int error_number) {
  throw_error(growth_failed(pool_name, capacity, in_use, error_number));
}

}  // namespace lido::inline v0
