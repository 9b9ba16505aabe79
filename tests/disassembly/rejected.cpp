// Stacks whose hit path breaks Lido's promises. hit_path.py must reject each of them.
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace {

struct stack {
  std::mutex mutex;
  std::atomic<std::size_t> count;
  std::size_t top;
  std::array<void*, 64> items;
};

struct cache {
  std::atomic<void**> top;
  std::atomic<std::uintptr_t> low;
  std::atomic<std::uintptr_t> high;
};

[[gnu::noinline, gnu::cold]] void* slow_pop(cache& from) {
  return from.top.load(std::memory_order_relaxed);
}

[[gnu::noinline, gnu::cold]] void* slow(stack& from) {
  return from.items[0];
}

}  // namespace

extern "C" void* rejected_mutex(stack& from) {
  const std::lock_guard lock(from.mutex);
  return from.top > 0 ? from.items[--from.top] : nullptr;
}

extern "C" void* rejected_fetch_sub(stack& from) {
  const std::size_t before = from.count.fetch_sub(1, std::memory_order_relaxed);
  return before > 0 ? from.items[before - 1] : nullptr;
}

extern "C" bool rejected_compare_exchange(stack& from, std::size_t expected) {
  return from.count.compare_exchange_strong(expected, expected - 1, std::memory_order_relaxed);
}

extern "C" void* rejected_fence(stack& from) {
  if (from.top == 0) {
    return nullptr;
  }
  void* const item = from.items[--from.top];
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return item;
}

extern "C" void rejected_exchange(stack& to, std::size_t value) {
  to.count.store(value, std::memory_order_seq_cst);  // an xchg with memory locks without saying so
}

// A single variable would do.
extern constinit thread_local std::size_t thread_base;
extern constinit thread_local std::size_t thread_limit;

extern "C" void rejected_thread_local(stack& to) {
  to.top = thread_base;
  asm volatile("" : : : "memory");
  to.items[0] = &to + thread_limit;
}

// An early return is no hit: nothing was taken.
extern "C" void* rejected_call(stack& from) {
  if (from.top == 0) {
    return nullptr;
  }
  --from.top;
  return slow(from);
}

// A thief that closes the bounds between the two accesses goes unnoticed.
extern "C" void* rejected_early_bound(cache& from) {
  void** const top = from.top.load(std::memory_order_relaxed) - 1;
  const std::uintptr_t low = from.low.load(std::memory_order_relaxed);
  asm volatile("" : : "r"(low) : "memory");
  from.top.store(top, std::memory_order_release);
  return std::bit_cast<std::uintptr_t>(top) >= low ? *top : slow_pop(from);
}

extern "C" void* rejected_without_bound(cache& from) {
  void** const top = from.top.load(std::memory_order_relaxed) - 1;
  from.top.store(top, std::memory_order_release);
  return *top;
}
