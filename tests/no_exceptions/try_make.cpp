// Pools that cannot be made, in a program without exceptions: the program continues.
#include <lido/block_resource.hpp>
#include <lido/concurrent_slot_map.hpp>
#include <lido/memory_source.hpp>
#include <lido/object_pool.hpp>
#include <lido/pmr_source.hpp>
#include <lido/slot_map.hpp>
#include <lido/try_make.hpp>

#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <memory_resource>
#include <string_view>

#include "check.hpp"

namespace {

using pool = lido::object_pool<int>;
using map = lido::concurrent_slot_map<int>;

void options_are_checked() {
  CHECK(lido::problem_with<pool>({}).text() == "capacity 0 is not between 1 and 4294967294");
  CHECK(!lido::try_make<pool>({}));
  CHECK(!lido::try_make<map>({}));
  CHECK(!lido::try_make<lido::block_resource>({}));
  const auto made = lido::try_make<pool>({.capacity = 3});
  CHECK(made && !made.problem && made.pool->try_acquire(1));
}

void small_memory_is_a_problem() {
  alignas(128) static std::array<std::byte, 4096> bytes;
  lido::memory_region region(bytes);
  CHECK(!lido::try_make<pool>({.capacity = 3000, .memory = &region}));
  const auto made = lido::try_make<pool>({.capacity = 30, .memory = &region});
  CHECK(made && made.pool->try_acquire(1));
}

/// A source that never reuses memory serves a pool that needs more than half of it.
void memory_of_a_resource_is_not_taken_twice() {
  alignas(8192) static std::array<std::byte, 16'384> bytes;
  std::pmr::monotonic_buffer_resource once(bytes.data(), bytes.size(),
                                           std::pmr::null_memory_resource());
  lido::pmr_source source(&once);
  const lido::object_pool_options options{.capacity = 1000, .memory = &source};
  CHECK(pool::bytes_needed(options) > bytes.size() / 2);
  const auto made = lido::try_make<pool>(options);
  CHECK(made && made.pool->try_acquire(1));
}

struct alignas(8192) page {
  int value;
};

void memory_of_a_resource_is_aligned() {
  alignas(8192) static std::array<std::byte, std::size_t{8} * 8192> bytes;
  std::pmr::monotonic_buffer_resource once(&bytes[64], bytes.size() - 64,
                                           std::pmr::null_memory_resource());
  lido::pmr_source source(&once);
  const auto made = lido::try_make<lido::object_pool<page>>({.capacity = 5, .memory = &source});
  CHECK(made && made.pool->try_acquire());
}

void a_resource_without_memory_is_a_problem() {
  lido::pmr_source none(std::pmr::null_memory_resource());
  const auto made = lido::try_make<pool>({.capacity = 3, .memory = &none});
  CHECK(!made && made.problem.what() == lido::option_problem::kind::memory);
  CHECK(made.problem.text().starts_with("there is no memory for the pool, which needs "));
  CHECK(!lido::try_make<map>({.max_size = 3, .memory = &none}));
  CHECK(!lido::try_make<lido::slot_map<int>>({.max_size = 3, .reserve = 3, .memory = &none}));
  CHECK(!lido::try_make<lido::block_resource>({.block_bytes = 8, .blocks = 3, .memory = &none}));
}

void missing_memory_is_a_problem() {
  constexpr std::size_t too_much = std::size_t{1} << 31U;
  const rlimit limit{.rlim_cur = std::size_t{1} << 30U, .rlim_max = RLIM_INFINITY};
  CHECK(::setrlimit(RLIMIT_AS, &limit) == 0);
  const auto made = lido::try_make<pool>({.capacity = too_much});
  CHECK(!made && made.problem.what() == lido::option_problem::kind::memory);
  CHECK(made.problem.text().starts_with("there is no memory for the pool, which needs "));
  const auto growing = lido::try_make<pool>(
      {.capacity = 10, .max_capacity = too_much, .when_full = lido::when_full::grow});
  CHECK(!growing && growing.problem.what() == lido::option_problem::kind::memory);
  const auto small = lido::try_make<pool>(
      {.capacity = 10, .max_capacity = 100'000, .when_full = lido::when_full::grow});
  CHECK(small && small.pool->try_acquire(1));
  CHECK(!lido::try_make<map>({.max_size = too_much}));
  CHECK(!lido::try_make<lido::block_resource>({.block_bytes = 8, .blocks = too_much}));
}

}  // namespace

/// The argument is the library. The one that is built without exceptions cannot catch those of a
/// memory_resource.
int main(int /*count*/, char** arguments) {
  options_are_checked();
  small_memory_is_a_problem();
  memory_of_a_resource_is_not_taken_twice();
  memory_of_a_resource_is_aligned();
  if (std::string_view(arguments[1]) == "lido") {
    a_resource_without_memory_is_a_problem();
  }
  missing_memory_is_a_problem();
}
