// Pools that cannot be made, in a program without exceptions: the program continues.
#include <lido/block_resource.hpp>
#include <lido/concurrent_slot_map.hpp>
#include <lido/memory_source.hpp>
#include <lido/object_pool.hpp>
#include <lido/try_make.hpp>

#include <sys/resource.h>

#include <array>
#include <cstddef>

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

void missing_memory_is_a_problem() {
  constexpr std::size_t too_much = std::size_t{1} << 31U;
  const rlimit limit{.rlim_cur = std::size_t{1} << 30U, .rlim_max = RLIM_INFINITY};
  CHECK(::setrlimit(RLIMIT_AS, &limit) == 0);
  const auto made = lido::try_make<pool>({.capacity = too_much});
  CHECK(!made && made.problem.what() == lido::option_problem::kind::memory);
  CHECK(!lido::try_make<map>({.max_size = too_much}));
  CHECK(!lido::try_make<lido::block_resource>({.block_bytes = 8, .blocks = too_much}));
}

}  // namespace

int main() {
  options_are_checked();
  small_memory_is_a_problem();
  missing_memory_is_a_problem();
}
