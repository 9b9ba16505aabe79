// Functions that do less than full_fence. barrier.py must reject each of them.
#include <atomic>

// Orders accesses only for the compiler.
extern "C" void rejected_light_fence() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// No instruction on x86-64; on arm64 one that lets stores pass.
extern "C" void rejected_acquire_fence() {
  std::atomic_thread_fence(std::memory_order_acquire);
}

extern "C" void rejected_fence_at_times(bool wanted) {
  if (wanted) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

extern "C" int rejected_plain_accesses(std::atomic<int>& mine, const std::atomic<int>& other) {
  mine.store(1, std::memory_order_release);
  return other.load(std::memory_order_acquire);
}
