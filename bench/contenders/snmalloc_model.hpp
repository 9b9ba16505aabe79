/// @file
/// The design of snmalloc, in our own model. Free objects form a list through themselves, in slabs
/// that a thread owns. Objects of other threads that a thread releases stay in 16 lists until they
/// are 16 KiB. Then it posts each list to its owner's queue by one exchange. An owner checks its
/// queue when it has nothing free. The pool is unbounded.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "contender.hpp"

namespace lido_bench {

namespace detail {

/// A free object. The queue reads and writes `next` through std::atomic_ref.
struct free_link {
  free_link* next;
};

/// The state that one thread allocates from. It outlives the thread, and the next thread takes it
/// over.
struct alignas(64) snmalloc_thread {
  free_link* free{nullptr};
  free_link* front{&stub};  ///< front of the queue; a post's last link stays until the next one
  free_link stub{nullptr};
  alignas(64) std::atomic<free_link*> back{&stub};  ///< back of the queue

  void post(free_link* first, free_link* last) {
    std::atomic_ref{last->next}.store(nullptr, std::memory_order_relaxed);
    free_link* const before{back.exchange(last, std::memory_order_acq_rel)};
    std::atomic_ref{before->next}.store(first, std::memory_order_release);
  }

  void receive() {
    free_link* next{std::atomic_ref{front->next}.load(std::memory_order_acquire)};
    while (next != nullptr) {
      if (front != &stub) {
        front->next = free;
        free = front;
      }
      front = next;
      next = std::atomic_ref{front->next}.load(std::memory_order_acquire);
    }
  }
};

/// Objects of others that a thread has released.
struct snmalloc_posts {
  static constexpr std::size_t lists{16};
  struct list {
    snmalloc_thread* owner{nullptr};
    free_link* first{nullptr};
    free_link* last{nullptr};
  };

  void add(free_link* object, snmalloc_thread* owner, std::size_t bytes) {
    list& to{all[std::bit_cast<std::uintptr_t>(owner) / sizeof(snmalloc_thread) % lists]};
    if (to.owner != owner) {
      post(to);
      to.owner = owner;
    }
    object->next = to.first;
    to.first = object;
    to.last = to.last == nullptr ? object : to.last;
    kept += bytes;
  }
  void post_all() {
    for (list& each : all) {
      post(each);
    }
    kept = 0;
  }
  static void post(list& full) {
    if (full.first != nullptr) {
      full.owner->post(full.first, full.last);
    }
    full = {};
  }

  std::array<list, lists> all;
  std::size_t kept{0};  ///< bytes
};

// constinit: as for the floor.
inline constinit thread_local snmalloc_thread* own_snmalloc_thread{nullptr};

}  // namespace detail

template <std::size_t Bytes>
class snmalloc_model : public contender_defaults {
 public:
  static constexpr std::string_view name{"snmalloc_model"};

  explicit snmalloc_model(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(snmalloc_model& pool) : pool_{pool} {
      detail::own_snmalloc_thread = pool.enter();
    }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session() {
      posts_.post_all();
      pool_.leave(detail::own_snmalloc_thread);
    }

    [[gnu::always_inline]] void* acquire() {
      detail::snmalloc_thread* const own{detail::own_snmalloc_thread};
      detail::free_link* const object{own->free};
      if (object == nullptr) [[unlikely]] {
        return pool_.refill(*own);
      }
      own->free = object->next;
      __builtin_prefetch(own->free);
      return object;
    }
    [[gnu::always_inline]] void release(void* object) {
      detail::snmalloc_thread* const own{detail::own_snmalloc_thread};
      auto* const freed = static_cast<detail::free_link*>(object);
      if (owner_of(object) != own) [[unlikely]] {
        return release_to_owner(freed);
      }
      freed->next = own->free;
      own->free = freed;
    }

   private:
    [[gnu::noinline]] void release_to_owner(detail::free_link* object) {
      posts_.add(object, owner_of(object), Bytes);
      if (posts_.kept >= most_kept) {
        posts_.post_all();
      }
    }

    snmalloc_model& pool_;
    detail::snmalloc_posts posts_;
  };

 private:
  static constexpr std::size_t most_kept{std::size_t{16} << 10U};
  static constexpr std::size_t slab_bytes{std::size_t{64} << 10U};
  static constexpr std::size_t head_bytes{64};
  struct free_memory {
    void operator()(void* memory) const { std::free(memory); }
  };

  /// The owner is stored at the start of a slab, in place of snmalloc's map of pages.
  static detail::snmalloc_thread*& owner_of(void* object) {
    const std::uintptr_t slab{std::bit_cast<std::uintptr_t>(object) & ~(slab_bytes - 1)};
    return *std::bit_cast<detail::snmalloc_thread**>(slab);
  }

  [[gnu::noinline]] void* refill(detail::snmalloc_thread& own) {
    own.receive();
    if (own.free == nullptr) {
      add_slab(own);
    }
    detail::free_link* const object{own.free};
    own.free = object->next;
    return object;
  }

  /// Adds a slab, with low objects first.
  void add_slab(detail::snmalloc_thread& own) {
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(slab_bytes, slab_bytes));
    if (memory == nullptr) {
      throw std::bad_alloc{};
    }
    owner_of(memory) = &own;
    for (std::size_t left{(slab_bytes - head_bytes) / Bytes}; left > 0; --left) {
      own.free = std::construct_at(static_cast<detail::free_link*>(static_cast<void*>(
                                       memory + head_bytes + (left - 1) * Bytes)),
                                   own.free);
    }
    const std::lock_guard lock{mutex_};
    slabs_.emplace_back(memory);
  }

  [[nodiscard]] detail::snmalloc_thread* enter() {
    const std::lock_guard lock{mutex_};
    if (idle_.empty()) {
      threads_.push_back(std::make_unique<detail::snmalloc_thread>());
      return threads_.back().get();
    }
    detail::snmalloc_thread* const next{idle_.back()};
    idle_.pop_back();
    return next;
  }

  void leave(detail::snmalloc_thread* gone) {
    const std::lock_guard lock{mutex_};
    idle_.push_back(gone);
  }

  std::mutex mutex_;  // guards all below
  std::vector<std::unique_ptr<detail::snmalloc_thread>> threads_;
  std::vector<detail::snmalloc_thread*> idle_;
  std::vector<std::unique_ptr<std::byte, free_memory>> slabs_;
};

}  // namespace lido_bench
