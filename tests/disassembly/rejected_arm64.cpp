// Code whose orders break Lido's promises on arm64. arm64.py must reject each of them.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace {

struct stack {
  std::atomic<std::size_t> top;
  std::atomic<std::uint64_t> head;
  std::array<void*, 64> items;
};

}  // namespace

// ---- on the hit path --------------------------------------------------------------------------

extern "C" void rejected_relaxed_top(stack& to, void* item) {
  const std::size_t top = to.top.load(std::memory_order_relaxed);
  to.items[top] = item;
  to.top.store(top + 1, std::memory_order_relaxed);
}

extern "C" void rejected_barrier(stack& to, void* item) {
  const std::size_t top = to.top.load(std::memory_order_relaxed);
  to.items[top] = item;
  to.top.store(top + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

extern "C" void rejected_read_modify_write(stack& to, void* item) {
  to.items[to.top.fetch_add(1, std::memory_order_release)] = item;
}

// ---- in a pop and a push of a shared list -------------------------------------------------------

extern "C" bool rejected_relaxed_pop(stack& from) {
  std::uint64_t head = from.head.load(std::memory_order_relaxed);
  return from.head.compare_exchange_weak(head, head + 1, std::memory_order_relaxed,
                                         std::memory_order_relaxed);
}

extern "C" bool rejected_acquire_pop(stack& from) {
  std::uint64_t head = from.head.load(std::memory_order_relaxed);
  return from.head.compare_exchange_weak(head, head + 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
}

extern "C" bool rejected_relaxed_push(stack& to) {
  std::uint64_t head = to.head.load(std::memory_order_relaxed);
  return to.head.compare_exchange_weak(head, head + 1, std::memory_order_relaxed,
                                       std::memory_order_relaxed);
}

extern "C" bool rejected_fenced_push(stack& to) {
  std::uint64_t head = to.head.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  return to.head.compare_exchange_weak(head, head + 1, std::memory_order_release,
                                       std::memory_order_relaxed);
}
