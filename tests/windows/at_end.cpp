// A module with a static pool, which is destroyed after the system has ended all other threads. One
// of them was in the registry of threads at that moment.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "lido/object_pool.hpp"

namespace {

std::atomic<bool> is_inside{false};

/// Keeps a thread in the registry for ever.
struct stuck_listener final : lido::detail::thread_exit_listener {
  void visit_uses(void (* /*visit*/)(lido::detail::thread_use&)) noexcept override {
    is_inside = true;
    while (true) {
      std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }
};

struct last_word {
  ~last_word() {
    std::printf("report: static pools have ended\n");
    (void)std::fflush(stdout);
  }
};
const last_word after_the_pool;
lido::object_pool<int> pool(64);

}  // namespace

extern "C" void lido_test_get_stuck();
extern "C" void lido_test_get_stuck() {
  (void)pool.acquire();
  std::thread([] {
    stuck_listener listener;
    listener.register_listener();
    listener.unregister_listener();
  }).detach();
  while (!is_inside) {
    std::this_thread::yield();
  }
}
