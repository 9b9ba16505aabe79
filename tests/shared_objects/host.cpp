// Loads two shared objects that both use Lido, uses both in threads, and unloads them again.
//
// Usage: host local|global apart|together A.so B.so
//
//     local, global   with which visibility of their symbols they are loaded
//     apart           each keeps its pools to itself
//     together        they have one copy of Lido, so a pool of one may be used by the other
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "plugin.hpp"
#include "support/modules.hpp"

namespace {

constexpr std::size_t capacity = 64;
constexpr unsigned workers = 4;
constexpr unsigned bursts = 20'000;

void require(bool held, const std::string& what) {
  if (!held) {
    (void)std::printf("BROKEN: %s\n", what.c_str());
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

/// One loaded shared object.
struct loaded {
  loaded(const char* path, bool is_global) : handle(lido_test::load_module(path, is_global)) {
    require(handle != nullptr, std::string(path) + " cannot be loaded");
    auto* const entry = lido_test::find_function<const plugin*()>(handle, "lido_test_plugin");
    require(entry != nullptr, "the plugin's entry is missing");
    functions = entry();
  }

  void* handle;
  const plugin* functions = nullptr;
};

/// Lets two threads reach the shared objects in opposite orders. In each, their numbers must
/// differ.
void meet_in_opposite_orders(const plugin& a, const plugin& b) {
  void* const pool_a = a.make_pool(capacity);
  void* const pool_b = b.make_pool(capacity);
  std::size_t numbers[2][2] = {};
  std::barrier both(2);
  // A thread that meets another at the registry once has no number.
  const auto number_in = [](const plugin& object, void* pool) {
    std::size_t number = 0;
    for (int tries = 0; number == 0 && tries < 1000; ++tries) {
      number = object.use_once(pool);
      std::this_thread::yield();
    }
    return number;
  };
  std::thread first([&] {
    numbers[0][0] = number_in(a, pool_a);
    both.arrive_and_wait();
    numbers[0][1] = number_in(b, pool_b);
    both.arrive_and_wait();
  });
  std::thread second([&] {
    numbers[1][1] = number_in(b, pool_b);
    both.arrive_and_wait();
    numbers[1][0] = number_in(a, pool_a);
    both.arrive_and_wait();
  });
  first.join();
  second.join();
  for (std::size_t object = 0; object < 2; ++object) {
    require(numbers[0][object] != 0 && numbers[1][object] != 0, "a thread has no number");
    require(numbers[0][object] != numbers[1][object],
            "two threads have number " + std::to_string(numbers[0][object]) +
                (object == 0 ? " in shared object A" : " in shared object B"));
  }
  a.destroy_pool(pool_a);
  b.destroy_pool(pool_b);
}

/// Uses both; `user` may be the owner of the pool, or the other one if both share one copy of Lido.
void work_in_both(const plugin& a, const plugin& b, const plugin& user_of_b) {
  void* const pool_a = a.make_pool(capacity);
  void* const pool_b = b.make_pool(capacity);
  std::atomic<bool> alone{true};
  std::vector<std::thread> threads;
  for (unsigned me = 1; me <= workers; ++me) {
    threads.emplace_back([&, me] {
      const bool start_with_a = me % 2 == 0;
      for (unsigned turn = 0; turn < 4; ++turn) {
        const bool in_a = (turn % 2 == 0) == start_with_a;
        if (!(in_a ? a.work(pool_a, me, bursts)
                   : (turn / 2 == 0 ? b : user_of_b).work(pool_b, me, bursts))) {
          alone = false;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  require(alone, "an object had two owners");
  for (const auto& [of, pool] : {std::pair{&a, pool_a}, std::pair{&b, pool_b}}) {
    // The main thread, which made the pools, may have an open cache.
    require(of->open_caches(pool) <= 1, "an ended thread has left its cache open");
    require(of->count_acquirable(pool) == capacity, "slots are lost");
    of->destroy_pool(pool);
  }
}

/// Closes both before a thread that has used them ends.
void close_before_the_thread_ends(loaded& a, loaded& b) {
  std::barrier closed(2);
  std::thread user([&] {
    for (const loaded* const object : {&a, &b}) {
      void* const pool = object->functions->make_pool(capacity);
      (void)object->functions->use_once(pool);
      object->functions->destroy_pool(pool);
    }
    closed.arrive_and_wait();
    closed.arrive_and_wait();
  });
  closed.arrive_and_wait();
  require(lido_test::close_module(a.handle) && lido_test::close_module(b.handle), "closing failed");
  closed.arrive_and_wait();
  user.join();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv, argv + argc);
  require(arguments.size() == 5, "usage: host local|global apart|together A.so B.so");
  const bool is_global = arguments[1] == "global";
  loaded a(argv[3], is_global);
  loaded b(argv[4], is_global);
  require(a.functions != b.functions, "the two shared objects are one");
  meet_in_opposite_orders(*a.functions, *b.functions);
  work_in_both(*a.functions, *b.functions,
               arguments[2] == "together" ? *a.functions : *b.functions);
  close_before_the_thread_ends(a, b);
  (void)std::printf("report: shared_objects=%s-%s acquires=%u\n", argv[1], argv[2],
                    workers * 4 * bursts * 12);
  return EXIT_SUCCESS;
}
