// Tests the promises of the core in one program, for systems without a test framework. They are
// exact counts, ends of threads, waits and deadlines, growth, a slot map, blocks for C, and a
// caught misuse.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "lido/checked.hpp"
#include "lido/lido.h"
#include "lido/object_pool.hpp"
#include "lido/slot_map.hpp"

namespace {

using std::chrono::milliseconds;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "BROKEN: %s\n", what);
    std::_Exit(1);
  }
}

template <class Body>
void in_threads(int count, Body body) {
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    threads.emplace_back(body);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

/// Returns how many threads have the slot at that address, where slots are contiguous.
std::atomic<int>& owners_of(const long* object) {
  static std::array<std::atomic<int>, 4096> owners{};
  return owners[reinterpret_cast<std::uintptr_t>(object) / alignof(long) % owners.size()];
}

/// Takes as many objects as the threads want together: no acquire may fail.
void counts_are_exact(lido::cache_kind kind) {
  constexpr int threads = 4;
  constexpr std::size_t held = 16;
  lido::object_pool<long> pool({.capacity = threads * held, .caches = kind});
  in_threads(threads, [&] {
    std::array<long*, held> mine{};
    for (int round = 0; round < 2000; ++round) {
      for (long*& object : mine) {
        object = pool.try_acquire_ptr();
        require(object != nullptr, "an acquire failed beside free slots");
        require(owners_of(object).fetch_add(1) == 0, "a slot has two owners");
      }
      for (long* const object : mine) {
        require(owners_of(object).fetch_sub(1) == 1, "a slot had two owners");
        pool.release(object);
      }
    }
  });
  std::vector<long*> all;
  while (long* const object = pool.try_acquire_ptr()) {
    all.push_back(object);
  }
  require(all.size() == threads * held, "slots were lost with their threads");
  for (long* const object : all) {
    pool.release(object);
  }
}

void numbers_come_back() {
  lido::object_pool<int> pool(100);
  for (int born = 0; born < 300; ++born) {
    std::thread([&] { pool.release(pool.try_acquire_ptr(1)); }).join();
  }
  require(pool.stats().open_caches == 0, "threads that ended left caches open");
}

void waits_end() {
  lido::object_pool<int> pool(1);
  int* const only = pool.try_acquire_ptr(1);
  const auto began = std::chrono::steady_clock::now();
  require(!pool.acquire_for(milliseconds(20), 2), "an object that is in use was acquired");
  const auto waited = std::chrono::steady_clock::now() - began;
  require(waited >= milliseconds(20), "a wait ended early");
  require(waited < milliseconds(2000), "a wait ended late");
  std::atomic<int> served{0};
  std::thread releasing([&] {
    std::this_thread::sleep_for(milliseconds(10));
    pool.release(only);
  });
  in_threads(4, [&] {
    for (int i = 0; i < 100; ++i) {
      require(bool{pool.acquire_for(std::chrono::minutes(1), i)}, "a wait was refused");
      ++served;
    }
  });
  releasing.join();
  require(served == 400, "a waiting thread was forgotten");
}

void grows_and_shrinks() {
  lido::object_pool<std::array<char, 1000>> pool(
      {.capacity = 64, .max_capacity = 4096, .when_full = lido::when_full::grow});
  std::vector<decltype(pool)::lease_type> all;
  while (all.size() < 4096) {
    all.push_back(pool.acquire());
    all.back()->fill('x');
  }
  require(!pool.try_acquire(), "a pool grew beyond its limit");
  all.clear();
  require(pool.shrink_to(64) < 4096, "a pool did not shrink");
}

void handles_die() {
  lido::slot_map<int> map;
  const auto first = map.insert(1);
  require(map.erase(first) && !map.contains(first), "a handle outlived its value");
}

void blocks_serve_c() {
  lido_pool_options options{};
  options.size = sizeof(options);
  options.block_bytes = 24;
  options.blocks = 1;
  lido_pool* pool = nullptr;
  require(lido_pool_create(&options, &pool) == LIDO_OK, "there is no pool for C");
  void* const block = lido_pool_acquire(pool);
  require(block != nullptr && lido_pool_acquire(pool) == nullptr, "a pool of one block has more");
  require(lido_pool_release(pool, block) == LIDO_OK, "a release is refused");
  require(lido_pool_destroy(pool) == LIDO_OK, "a pool for C does not end");
}

bool was_caught = false;

void misuse_is_caught() {
  lido::set_misuse_handler([](const lido::misuse& /*what*/) noexcept { was_caught = true; });
  lido::object_pool<int, lido::checked_traits<int>> pool(2);
  int* const object = pool.try_acquire_ptr(1);
  pool.release(object);
  pool.release(object);
  require(was_caught, "a double release was not caught");
}

}  // namespace

int main() {
  for (const auto kind :
       {lido::cache_kind::revocable, lido::cache_kind::locked, lido::cache_kind::none}) {
    counts_are_exact(kind);
  }
  numbers_come_back();
  waits_end();
  grows_and_shrinks();
  handles_die();
  blocks_serve_c();
  misuse_is_caught();
  const lido::object_pool<int> pool(1000);
  const bool has_fence = pool.stats().caches == lido::cache_kind::revocable;
  std::printf("held; caches are %s\n", has_fence ? "revocable" : "locked");
}
