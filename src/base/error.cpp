#include "lido/base/error.hpp"

namespace lido {

pool_exhausted::pool_exhausted(std::string_view pool_name, std::size_t capacity, std::size_t in_use)
    : std::runtime_error("lido: pool '" + std::string(pool_name) +
                         "' is exhausted: " + std::to_string(in_use) + " of " +
                         std::to_string(capacity) + " slots are in use"),
      name_(std::make_shared<const std::string>(pool_name)),
      capacity_(capacity),
      in_use_(in_use) {}

void detail::throw_invalid_option(std::string_view pool_name, const std::string& problem) {
  throw std::invalid_argument("lido: pool '" + std::string(pool_name) + "': " + problem);
}

}  // namespace lido
