// Lets the first, second, third ... call of mmap, mprotect and madvise fail, once and then for
// ever, until a run of a growing pool has nothing left to fail. After each, there was the right
// error, and acquired objects are unchanged. With memory available, every slot is there. Every
// segment can be removed, and the pool's addresses with it.
#include <fmt/format.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "allocator/spare_tables.hpp"
#include "support/drain.hpp"
#include "support/preset_pool.hpp"

namespace {

enum class call { reserve, protect, advise };
constexpr std::array<std::string_view, 3> names{"mmap", "mprotect", "madvise"};

/// Chooses the call that fails, and counts its failures.
struct {
  call what = call::reserve;
  long first = 0;
  bool sticky = false;
  bool armed = false;
  long seen = 0;
  long injected = 0;
} plan;

std::size_t mapped = 0;  ///< bytes of addresses that were not given back

bool fails(call what) {
  if (!plan.armed || plan.what != what) {
    return false;
  }
  const long occasion = ++plan.seen;
  const bool due = occasion == plan.first || (plan.sticky && occasion > plan.first);
  plan.injected += due ? 1 : 0;
  return due;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): names that the linker
// gives
extern "C" {

void* __real_mmap(void* memory, std::size_t size, int access, int flags, int file, off_t offset);
int __real_munmap(void* memory, std::size_t size);
int __real_mprotect(void* memory, std::size_t size, int access);
int __real_madvise(void* memory, std::size_t size, int advice);

void* __wrap_mmap(void* memory, std::size_t size, int access, int flags, int file, off_t offset);
void* __wrap_mmap(void* memory, std::size_t size, int access, int flags, int file, off_t offset) {
  if (fails(call::reserve)) {
    errno = ENOMEM;
    return MAP_FAILED;  // NOLINT(performance-no-int-to-ptr): a macro of the system
  }
  void* const found = __real_mmap(memory, size, access, flags, file, offset);
  mapped += found != MAP_FAILED ? size : 0;  // NOLINT(performance-no-int-to-ptr): as above
  return found;
}

int __wrap_munmap(void* memory, std::size_t size);
int __wrap_munmap(void* memory, std::size_t size) {
  mapped -= size;
  return __real_munmap(memory, size);
}

int __wrap_mprotect(void* memory, std::size_t size, int access);
int __wrap_mprotect(void* memory, std::size_t size, int access) {
  if (fails(call::protect)) {
    errno = ENOMEM;
    return -1;
  }
  return __real_mprotect(memory, size, access);
}

int __wrap_madvise(void* memory, std::size_t size, int advice);
int __wrap_madvise(void* memory, std::size_t size, int advice) {
  if (fails(call::advise)) {
    errno = EAGAIN;
    return -1;
  }
  return __real_madvise(memory, size, advice);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

namespace {

struct item {
  explicit item(std::size_t number = 0) : numbers{number} {}
  std::array<std::size_t, 64> numbers;
};

struct numbering {
  static void activate(item& object, std::size_t number = 0) { object.numbers[0] = number; }
};
struct numbered_traits : lido::pool_traits<item> {
  using hooks = numbering;
};
struct tracking_traits : lido::pool_traits<item> {
  static constexpr bool track_in_use = true;
};

constexpr std::size_t most = 1000;  // eight segments, the last one cut short

void require(bool held, std::string_view what) {
  if (!held) {
    fmt::print("BROKEN: {}: {} number {}{} failed\n", what,
               names.at(static_cast<std::size_t>(plan.what)), plan.first,
               plan.sticky ? " and later" : "");
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

template <class Pool>
std::unique_ptr<Pool> make_pool() {
  const lido::object_pool_options options{.capacity = 200, .name = "sweep", .max_capacity = most};
  try {
    return std::make_unique<Pool>(options);
  } catch (const lido::growth_failed& error) {
    require(plan.what == call::protect && error.error_number() == ENOMEM, "an unexpected error");
  } catch (const std::bad_alloc&) {
    require(plan.what == call::reserve, "an unexpected bad_alloc");
  }
  require(plan.injected > 0, "an error that nothing was the reason of");
  return nullptr;
}

/// Acquires an object; returns null if refused. Every second call is a try_acquire, which gives no
/// reason.
template <class Pool>
item* acquire_one(Pool& pool, std::size_t number) {
  if (number % 2 == 1) {
    return pool.try_acquire(number).detach();
  }
  try {
    return pool.acquire(number).detach();
  } catch (const lido::growth_failed& error) {
    require(error.error_number() == ENOMEM, "an unexpected refusal");
    return nullptr;
  }
}

/// Acquires all objects; after a refusal the next acquire succeeds if only one call was to fail.
template <class Pool>
void acquire_all(Pool& pool, std::vector<item*>& held) {
  while (held.size() < most) {
    const long before = plan.injected;
    if (item* const one = acquire_one(pool, held.size())) {
      held.push_back(one);
      continue;
    }
    require(plan.injected > before, "a refusal without a reason");
    if (plan.sticky) {
      break;
    }
  }
}

/// Grows, shrinks with one object in use in each segment, and grows again.
template <class Pool>
void use(Pool& pool) {
  std::vector<item*> held;
  held.reserve(most);
  for (int round = 0; round < 2; ++round) {
    try {
      pool.reserve(500);
    } catch (const lido::growth_failed&) {
      require(plan.injected > 0, "an unexpected refusal of reserve");
    }
    const std::size_t before = pool.stats().in_use;
    acquire_all(pool, held);
    require(pool.stats().in_use == before + held.size(), "the numbers are wrong");
    for (std::size_t i = 0; i < held.size(); ++i) {
      require(held[i]->numbers[0] == i, "an object has changed");
    }
    item* const kept = held.empty() ? nullptr : held.back();
    const std::size_t number = held.empty() ? 0 : held.size() - 1;
    for (std::size_t i = 0; i + 1 < held.size(); ++i) {
      pool.release(held[i]);
    }
    const long refused_before = plan.injected;
    const std::size_t left = pool.shrink_to(0);
    require(left == pool.capacity(), "not what is left");
    // All others are free, and memory that the system does not take back must not be lost.
    const bool of_memory = plan.what == call::advise;
    const auto refused = static_cast<std::size_t>(of_memory ? plan.injected - refused_before : 0);
    require(pool.stats().growth->segments == refused + (kept != nullptr ? 1 : 0),
            "not the segments left");
    require(kept == nullptr || kept->numbers[0] == number, "an object in use has changed");
    pool.release(kept);
    held.clear();
  }
}

/// Returns whether a call was left to fail.
template <class Pool>
bool run_with(call what, long first, bool sticky) {
  plan = {what, first, sticky, /*armed=*/true};
  const std::size_t before = mapped;
  auto pool = make_pool<Pool>();
  if (pool != nullptr) {
    use(*pool);
    plan.armed = false;
    require(lido::test::count_acquirable(*pool) == most, "slots are lost");
    require(pool->shrink_to(0) == 0, "segments are kept");
    require(pool->stats().in_use == 0, "slots are counted as in use");
  }
  plan.armed = false;
  pool.reset();
  lido::detail::spares.drop();
  require(mapped == before, "addresses are kept");
  return plan.injected > 0;
}

template <class Pool>
void sweep(std::string_view kind) {
  for (const call what : {call::reserve, call::protect, call::advise}) {
    long points = 0;
    for (const bool sticky : {false, true}) {
      for (long first = 1; run_with<Pool>(what, first, sticky); ++first) {
        ++points;
      }
    }
    require(points > 0, "nothing could fail");
    fmt::print("report: growth_sweep pool={} call={} points={}\n", kind,
               names.at(static_cast<std::size_t>(what)), points);
  }
}

}  // namespace

int main() {
  using namespace lido::test;
  using plain = lido::pool_traits<item>;
  sweep<preset_pool<item, plain, grows>>("revocable");
  sweep<preset_pool<item, plain, grows, locked_caches>>("locked");
  sweep<preset_pool<item, tracking_traits, grows, no_caches>>("none");
  sweep<preset_pool<item, numbered_traits, grows>>("kept");
  return EXIT_SUCCESS;
}
