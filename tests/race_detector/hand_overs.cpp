// Runs under ThreadSanitizer with an uninstrumented library. Without an argument it hands objects
// from thread to thread through each kind of pool, as pools allow, and expects no report. With the
// name of a fault it has that race, and expects one.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lido/block_resource.hpp"
#include "lido/checked.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "lido/object_pool.hpp"
#include "lido/resource_pool.hpp"

namespace {

using namespace std::chrono_literals;

constexpr unsigned threads = 4;

template <class Body>
void in_threads(const Body& body) {
  std::vector<std::jthread> crew;
  for (unsigned i = 0; i < threads; ++i) {
    crew.emplace_back([&body, i] { body(i); });
  }
}

struct message {
  long words[4] = {};
  std::string text;  // on the heap, which has its own ordering
};

void write(message& one) {
  ++one.words[0];
  one.words[1] = one.words[0];
  one.text.assign(40, static_cast<char>('a' + one.words[0] % 26));
}

// ---- objects ------------------------------------------------------------------------------------

/// Runs bursts larger than a cache, singles and bulk; there are enough objects for all threads.
template <class Pool>
void hand_over_objects(Pool& pool) {
  in_threads([&](unsigned me) {
    for (int round = 0; round < 100; ++round) {
      std::vector<message*> mine;
      for (int i = 0; i < 50; ++i) {
        if (message* const one = pool.try_acquire_ptr(); one != nullptr) {
          write(*one);
          mine.push_back(one);
        }
      }
      for (message* const one : mine) {
        write(*one);
        pool.release(one);
      }
      if (me % 2 == 0) {
        if (auto one = pool.try_acquire()) {
          write(*one);
        }
      }
    }
  });
}

/// Waits for objects, of which there are fewer than all threads need.
template <class Pool>
void wait_for_objects(Pool& pool) {
  in_threads([&](unsigned /*me*/) {
    for (int round = 0; round < 500; ++round) {
      const auto one = pool.acquire();
      write(*one);
    }
  });
}

struct kept_traits : lido::pool_traits<message> {
  using hooks = lido::keep;
};

void use_objects() {
  for (const auto caches :
       {lido::cache_kind::revocable, lido::cache_kind::locked, lido::cache_kind::none}) {
    lido::object_pool<message> pool({.capacity = 150, .caches = caches});
    hand_over_objects(pool);
    lido::object_pool<message> waiting(
        {.capacity = 2, .when_full = lido::when_full::wait, .caches = caches});
    wait_for_objects(waiting);
  }
  lido::object_pool<message, kept_traits> kept(150);
  hand_over_objects(kept);
  lido::object_pool<message, lido::checked_traits<message>> checked(150);
  hand_over_objects(checked);
}

/// Adds and removes segments; the thread that shrinks destroys the kept objects of others.
void use_growing_pool() {
  lido::object_pool<message, kept_traits> pool(
      {.capacity = 0, .max_capacity = 100'000, .when_full = lido::when_full::grow});
  std::atomic<bool> done{false};
  std::jthread shrinker([&] {
    while (!done) {
      pool.reserve(2000);
      pool.shrink_to(0);
    }
  });
  in_threads([&](unsigned /*me*/) {
    for (int round = 0; round < 20; ++round) {
      std::vector<lido::object_pool<message, kept_traits>::lease_type> mine;
      for (int i = 0; i < 800; ++i) {
        mine.push_back(pool.acquire());
        write(*mine.back());
      }
    }
  });
  done = true;
}

// ---- maps and blocks ----------------------------------------------------------------------------

void use_map() {
  lido::concurrent_slot_map<message> map(300);
  std::atomic<std::uint64_t> shared{0};
  in_threads([&](unsigned me) {
    for (int round = 0; round < 1000; ++round) {
      if (const auto handle = map.try_emplace()) {
        map.visit(handle, [](message& one) { write(one); });
        const auto other = lido::slot_handle<message>::from_bits(shared.exchange(handle.to_bits()));
        map.read(other, [](const message& one) { (void)one.words[0]; });
        map.erase(other);
      }
      if (round % 100 == 0 && me == 0) {
        map.for_each([](message& one) { write(one); });
      }
    }
  });
}

void use_blocks(lido::block_resource& blocks) {
  in_threads([&](unsigned /*me*/) {
    for (int round = 0; round < 200; ++round) {
      std::vector<long*> mine;
      for (int i = 0; i < 100; ++i) {
        mine.push_back(static_cast<long*>(blocks.allocate(64)));
        *mine.back() = i;
      }
      for (long* const one : mine) {
        ++*one;
        blocks.deallocate(one, 64);
      }
    }
  });
}

// ---- resources ----------------------------------------------------------------------------------

struct connection {
  long uses = 0;
  std::unique_ptr<long> buffer = std::make_unique<long>(0);
};

void write(connection& one) {
  ++one.uses;
  ++*one.buffer;
}

struct connector {
  static connection create() { return {}; }
  static bool validate(connection& one) {
    write(one);
    return true;
  }
  static bool reset(connection& one) {
    write(one);
    return one.uses % 50 != 0;
  }
  static void destroy(connection& one, lido::destroy_reason /*why*/) noexcept { write(one); }
};

void use_resources() {
  lido::resource_pool<connection> pool(connector{},
                                       {.max_size = 2, .validate_if_idle_longer_than = 0s});
  in_threads([&](unsigned me) {
    for (int round = 0; round < 200; ++round) {
      auto mine = pool.acquire();
      write(*mine);
      if (round % 40 == 0) {
        mine.discard();
      } else if (round % 41 == 0) {
        connection own = mine.detach();
        write(own);
      }
      if (me == 0) {
        std::latch called(1);
        mine = {};
        pool.async_acquire([&](lido::acquire_result<connection> got) {
          if (got) {
            write(*got.lease());
          }
          called.count_down();
        });
        called.wait();
      }
    }
  });
}

void use_keys() {
  lido::keyed_resource_pool<int, connection> pool([](int /*key*/) { return connection(); },
                                                  {.max_total = 3, .each_key = {.max_size = 2}});
  in_threads([&](unsigned me) {
    for (int round = 0; round < 200; ++round) {
      const auto mine = pool.at(static_cast<int>(me) % 3).acquire();
      write(*mine);
    }
  });
}

// ---- faults -------------------------------------------------------------------------------------

/// Uses an object after its release, when another thread already has it.
void use_after_release() {
  lido::object_pool<message> pool(1);
  std::atomic<message*> released{nullptr};
  std::jthread first([&] {
    message* const mine = pool.try_acquire_ptr();
    write(*mine);
    pool.release(mine);
    released.store(mine, std::memory_order_relaxed);
    for (int i = 0; i < 100; ++i) {
      mine->words[2] = i;
      std::this_thread::sleep_for(1ms);
    }
  });
  while (released.load(std::memory_order_relaxed) == nullptr) {
    std::this_thread::yield();
  }
  for (int i = 0; i < 100; ++i) {
    const auto mine = pool.try_acquire();
    mine->words[2] = i;
  }
}

/// Lets two threads write to one object without a hand-over between them.
void share_without_order() {
  lido::resource_pool<connection> pool(connector{}, {.max_size = 1});
  const auto mine = pool.acquire();
  in_threads([&](unsigned /*me*/) { mine->uses = 1; });
}

}  // namespace

int main(int count, char** arguments) {
  const std::string fault = count > 1 ? arguments[1] : "";
  if (fault == "use_after_release") {
    use_after_release();
  } else if (fault == "share_without_order") {
    share_without_order();
  } else {
    use_objects();
    use_growing_pool();
    use_map();
    lido::block_resource blocks({.block_bytes = 64, .blocks = 300, .overflow_to_upstream = true});
    use_blocks(blocks);
    use_resources();
    use_keys();
  }
  std::puts("done");
  return 0;
}
