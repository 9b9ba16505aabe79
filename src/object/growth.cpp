#include "lido/object/growth.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>

#include "lido/base/error.hpp"
#include "lido/base/segment_plan.hpp"
#include "lido/base/slot_index.hpp"

namespace lido::detail {

namespace {

void check_slots(const object_pool_options& options, const char* option, std::size_t slots) {
  if (slots == 0 || slots > max_capacity) {
    throw_invalid_option(options.name, std::string(option) + " " + std::to_string(slots) +
                                           " is not between 1 and " + std::to_string(max_capacity));
  }
}

}  // namespace

void check_options(const object_pool_options& options, bool grows) {
  if (grows) {
    check_slots(options, "max_capacity", options.max_capacity);
  } else {
    check_slots(options, "capacity", options.capacity);
    if (options.max_capacity != 0 || options.max_bytes != 0) {
      throw_invalid_option(options.name, "max_capacity and max_bytes are for policy::grow");
    }
  }
  if (options.max_cached > most_cached) {
    throw_invalid_option(options.name, "max_cached " + std::to_string(options.max_cached) +
                                           " is more than " + std::to_string(most_cached));
  }
}

void check_reserve(std::string_view pool_name, std::size_t slots, std::size_t most) {
  if (slots > most) {
    throw_invalid_option(
        pool_name,
        std::to_string(slots) + " slots are more than the pool can have: " + std::to_string(most));
  }
}

std::uint32_t most_slots_of(const object_pool_options& options, std::size_t stride) {
  const auto wanted = static_cast<std::uint32_t>(options.max_capacity);
  std::uint32_t most = wanted;
  if (options.max_bytes != 0) {
    most = segment_plan::slots_within(options.max_bytes, stride, wanted, page_size());
    if (most == 0) {
      throw_invalid_option(options.name, "max_bytes " + std::to_string(options.max_bytes) +
                                             " is less than one segment of slots of " +
                                             std::to_string(stride) + " bytes");
    }
  }
  if (most > PTRDIFF_MAX / stride) {
    throw std::bad_array_new_length();
  }
  check_reserve(options.name, options.capacity, most);
  return most;
}

}  // namespace lido::detail
