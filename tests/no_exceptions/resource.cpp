// resource_pool and keyed_resource_pool without exceptions: factories return a create_result,
// acquires an acquire_result.
#include <lido/keyed_resource_pool.hpp>
#include <lido/resource_pool.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"

namespace {

using namespace std::chrono_literals;

struct connection {
  int number;
};

// Every third create fails.
struct factory {
  std::atomic<int>& made;
  lido::create_result<connection> create() {
    const int number = ++made;
    if (number % 3 == 0) {
      return lido::create_error{.text = "refused"};
    }
    return connection{number};
  }
  static bool validate(connection& one) { return one.number > 0; }
  static bool reset(connection& one) { return one.number != 1; }
};

void leases_come_and_go() {
  std::atomic<int> made{0};
  lido::resource_pool<connection> pool(factory{made},
                                       {.max_size = 2, .name = "db", .acquire_timeout = 5s});
  auto first = pool.try_acquire_for(5s);
  auto second = pool.try_acquire_for(5s);
  CHECK(first && second && first->number != second->number);
  CHECK(!pool.try_acquire());
  std::thread([&pool] {
    const auto none = pool.try_acquire_for(5ms);
    CHECK(!none && none.failure() == lido::acquire_failure::timed_out);
  }).join();
  first.lease() = {};
  CHECK(pool.acquire()->number > 0);
  std::atomic<bool> called{false};
  pool.async_acquire([&called](lido::acquire_result<connection> got) {
    CHECK(static_cast<bool>(got));
    called = true;
  });
  while (!called) {
    std::this_thread::yield();
  }
}

void failed_creates_are_told() {
  lido::resource_pool<connection> pool(
      []() -> lido::create_result<connection> {
        return lido::create_error{.text = "wrong password", .permanent = true};
      },
      {.max_size = 1, .name = "db"});
  const auto refused = pool.try_acquire_for(5s);
  CHECK(!refused && refused.failure() == lido::acquire_failure::create_failed);
  CHECK(std::string(refused.error().what()).find("wrong password") != std::string::npos);
}

void threads_share_keys() {
  struct shard_factory {
    lido::create_result<connection> create(const std::string& key) {
      return connection{static_cast<int>(key.size())};
    }
  };
  lido::keyed_resource_pool<std::string, connection> pool(
      shard_factory{}, {.max_total = 2, .each_key = {.max_size = 2, .name = "shards"}});
  std::vector<std::thread> threads;
  for (std::size_t id = 1; id <= 4; ++id) {
    threads.emplace_back([&pool, id] {
      const std::string key(id, 'k');
      for (int i = 0; i < 200; ++i) {
        const auto mine = pool.at(key).try_acquire_for(60s);
        CHECK(mine && mine->number == static_cast<int>(id));
      }
    });
  }
  for (std::thread& each : threads) {
    each.join();
  }
}

}  // namespace

int main() {
  leases_come_and_go();
  failed_creates_are_told();
  threads_share_keys();
}
