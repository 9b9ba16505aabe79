// object_pool without exceptions: all its calls, alone and with threads.
#include <lido/checked.hpp>
#include <lido/object_pool.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"

namespace {

using namespace std::chrono_literals;

struct named {
  explicit named(std::string text = "") : name(std::move(text)) {}
  std::string name;
};

void full_pools_refuse() {
  lido::object_pool<named> pool({.capacity = 2, .name = "few"});
  lido::lease<named> first = pool.acquire("first");
  named* const second = pool.try_acquire_ptr("second");
  CHECK(first->name == "first" && second->name == "second");
  CHECK(!pool.try_acquire("third"));
  CHECK(pool.try_acquire_ptr("third") == nullptr);
  CHECK(!pool.acquire_for(1ms, "third"));
  CHECK(!pool.acquire_until(std::chrono::steady_clock::now() + 1ms, "third"));
#if defined(__cpp_lib_jthread)
  std::stop_source stop;
  (void)stop.request_stop();
  CHECK(!pool.acquire(stop.get_token(), "third"));
#endif
  std::array<named*, 3> none{};
  CHECK(pool.try_acquire_n(none) == 0);
  first.reset();
  CHECK(pool.try_acquire_n(none) == 1);
  pool.release_n(none);
  pool.release(second);
  CHECK(pool.stats().in_use == 0);
}

void pools_grow_to_their_limit() {
  lido::object_pool<named> pool(
      {.capacity = 1, .max_capacity = 500, .when_full = lido::when_full::grow});
  std::vector<lido::lease<named>> held;
  while (lido::lease<named> next = pool.try_acquire("next")) {
    held.push_back(std::move(next));
  }
  CHECK(held.size() == 500 && pool.capacity() == 500);
  held.clear();
  CHECK(pool.shrink_to(0) < 500);
}

struct buffer_hooks {
  [[nodiscard]] std::string create() { return std::string(100, '-'); }
  [[nodiscard]] bool deactivate(std::string& text) { return text.size() == 100; }  // not noexcept
};
struct buffer_traits : lido::pool_traits<std::string> {
  using hooks = buffer_hooks;
};

void hooks_refuse_objects() {
  lido::object_pool<std::string, buffer_traits> pool(
      {.capacity = 4, .creation = lido::creation::eager});
  CHECK(pool.stats().live == 4);
  auto text = pool.acquire();
  *text = "short";
  text.reset();
  CHECK(pool.stats().live == 3);
}

void checked_pools_report() {
  static std::atomic<int> reports{0};
  lido::set_misuse_handler([](const lido::misuse& what) noexcept {
    reports += what.kind == lido::misuse_kind::double_release ? 1 : 10;
  });
  lido::object_pool<named, lido::checked_traits<named>> pool(4);
  named* const one = pool.try_acquire_ptr("one");
  pool.release(one);
  pool.release(one);
  CHECK(reports == 1);
}

void threads_share_a_pool() {
  constexpr int rounds = 20'000;
  lido::object_pool<std::pair<int, int>> pool(
      {.capacity = 3, .name = "shared", .when_full = lido::when_full::wait});
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&pool, id] {
      for (int i = 0; i < rounds; ++i) {
        const auto mine = pool.acquire(id, i);
        CHECK(*mine == std::pair(id, i));
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
  CHECK(pool.stats().in_use == 0);
}

}  // namespace

int main() {
  full_pools_refuse();
  pools_grow_to_their_limit();
  hooks_refuse_objects();
  checked_pools_report();
  threads_share_a_pool();
}
