/// @file
/// DPDK's environment, started by the first of its contenders that runs.
#pragma once

#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>

#include <array>
#include <atomic>
#include <span>
#include <stdexcept>
#include <string>

#include "contender.hpp"

namespace lido_bench {

/// Starts with ordinary memory, no devices, no files, no telemetry: only what a mempool needs.
class dpdk_environment {
 public:
  static void start() { static const dpdk_environment once; }

 private:
  dpdk_environment() {
    // DPDK binds the calling thread to its first core, and with it every thread started later.
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed);
    int first{0};
    while (!CPU_ISSET(first, &allowed)) {
      ++first;
    }
    std::string core{"--lcores=0@" + std::to_string(first)};
    std::array<std::string, 8> options{"lido_bench",     "--no-huge",      "--no-pci",
                                       "--no-shconf",    "--no-telemetry", "--log-level=error",
                                       "-m" + memory_mb, std::move(core)};
    std::array<char*, 8> arguments{};
    for (std::size_t i{0}; i < options.size(); ++i) {
      arguments[i] = options[i].data();
    }
    // Threads that are not DPDK's own can register only when there is no second process.
    if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0 ||
        !rte_mp_disable()) {
      throw std::runtime_error{"DPDK does not start"};
    }
    pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
  }

  inline static const std::string memory_mb{"160"};
};

/// A mempool with or without the per-thread cache.
template <std::size_t Bytes, bool Cached>
class dpdk_pool : public contender_defaults {
 public:
  static constexpr bool fixed_capacity{true};

  /// Its ring lets later threads wait for one that was preempted inside a call: with more threads
  /// than cores each such wait lasts a time slice. Its documentation forbids that use.
  static unsigned max_threads() { return cores(); }

  explicit dpdk_pool(const sizing& size) {
    dpdk_environment::start();
    static std::atomic<unsigned> number{0};
    // relaxed: only a unique number
    const unsigned id{number.fetch_add(1, std::memory_order_relaxed)};
    pool_ = rte_mempool_create(
        ("bench" + std::to_string(id)).c_str(), static_cast<unsigned>(size.capacity), Bytes,
        cache_size(size.capacity), 0, nullptr, nullptr, nullptr, nullptr, SOCKET_ID_ANY, 0);
    if (pool_ == nullptr) {
      throw std::runtime_error{rte_strerror(rte_errno)};
    }
  }
  dpdk_pool(const dpdk_pool&) = delete;
  dpdk_pool& operator=(const dpdk_pool&) = delete;
  ~dpdk_pool() { rte_mempool_free(pool_); }

  /// A session registers its thread, because only registered threads have a cache.
  class session {
   public:
    explicit session(dpdk_pool& pool)
        : pool_{pool.pool_}, registered_{rte_lcore_id() == LCORE_ID_ANY} {
      if (registered_ && rte_thread_register() != 0) {
        throw std::runtime_error{"DPDK does not take the thread"};
      }
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() {
      // Only this returns what a leaving thread's cache holds.
      if constexpr (Cached) {
        rte_mempool_cache_flush(rte_mempool_default_cache(pool_, rte_lcore_id()), pool_);
      }
      if (registered_) {
        rte_thread_unregister();
      }
    }

    [[gnu::always_inline]] void* acquire() {
      void* object{nullptr};
      return rte_mempool_get(pool_, &object) == 0 ? object : nullptr;
    }
    [[gnu::always_inline]] void release(void* object) { rte_mempool_put(pool_, object); }

    /// Acquires all of `out`, or none.
    [[gnu::always_inline]] bool acquire_all(std::span<void*> out) {
      return rte_mempool_get_bulk(pool_, out.data(), static_cast<unsigned>(out.size())) == 0;
    }
    [[gnu::always_inline]] void release_all(std::span<void* const> objects) {
      rte_mempool_put_bulk(pool_, objects.data(), static_cast<unsigned>(objects.size()));
    }

   private:
    rte_mempool* pool_;
    bool registered_;
  };

 private:
  /// Returns the largest possible size: a cache may hold half as much again, which must not exceed
  /// the pool.
  static unsigned cache_size(std::size_t capacity) {
    if (!Cached) {
      return 0;
    }
    return static_cast<unsigned>(
        std::min<std::size_t>(RTE_MEMPOOL_CACHE_MAX_SIZE, capacity * 2 / 3));
  }

  rte_mempool* pool_{nullptr};
};

}  // namespace lido_bench
