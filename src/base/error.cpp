#include "lido/base/error.hpp"

#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace lido {

namespace {

std::string used_up(std::size_t in_use, std::size_t capacity) {
  return std::to_string(in_use) + " of " + std::to_string(capacity) + " slots are in use";
}

}  // namespace

pool_exhausted::pool_exhausted(std::string_view pool_name, std::size_t capacity, std::size_t in_use)
    : pool_exhausted(
          "lido: pool '" + std::string(pool_name) + "' is exhausted: " + used_up(in_use, capacity),
          pool_name, capacity, in_use) {}

pool_exhausted::pool_exhausted(const std::string& text, std::string_view pool_name,
                               std::size_t capacity, std::size_t in_use)
    : std::runtime_error(text),
      name_(std::make_shared<const std::string>(pool_name)),
      capacity_(capacity),
      in_use_(in_use) {}

growth_failed::growth_failed(std::string_view pool_name, std::size_t capacity, std::size_t in_use,
                             int error_number)
    : pool_exhausted("lido: pool '" + std::string(pool_name) +
                         "' cannot grow: " + std::generic_category().message(error_number) + "; " +
                         used_up(in_use, capacity),
                     pool_name, capacity, in_use),
      error_number_(error_number) {}

void detail::throw_invalid_option(std::string_view pool_name, const std::string& problem) {
  throw std::invalid_argument("lido: pool '" + std::string(pool_name) + "': " + problem);
}

void detail::end_for_waiters(std::string_view pool_name, std::size_t waiting) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): must not allocate
  (void)std::fprintf(stderr, "lido: pool '%.*s' ends while %zu threads wait for it\n",
                     static_cast<int>(pool_name.size()), pool_name.data(), waiting);
  std::abort();
}

}  // namespace lido
