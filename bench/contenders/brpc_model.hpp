/// @file
/// The design of brpc's ObjectPool, in our own model. A thread has up to 256 pointers to free
/// objects, and a block of objects that were never used. Full chunks of pointers go to a vector
/// behind a mutex. The pool is unbounded, and no other thread can get what a thread keeps.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "contender.hpp"

namespace lido_bench {

namespace detail {

struct free_chunk {
  static constexpr std::size_t length{256};
  std::size_t count{0};
  std::array<void*, length> items;
};

/// A thread's share of the one pool of a type. Type-erased: it is alike for all sizes, and one
/// thread is in one session at a time.
struct brpc_thread {
  free_chunk free;
  std::byte* fresh{nullptr};
  std::byte* fresh_end{nullptr};
};

// constinit: as for the floor.
inline constinit thread_local brpc_thread* own_brpc_thread{nullptr};

}  // namespace detail

template <std::size_t Bytes>
class brpc_model : public contender_defaults {
 public:
  static constexpr std::string_view name{"brpc_model"};

  explicit brpc_model(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(brpc_model& pool) : pool_{pool} { detail::own_brpc_thread = &local_; }
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    /// Leaves as a brpc thread does at its end: free objects go to the others, unused ones are
    /// lost.
    ~session() {
      detail::own_brpc_thread = nullptr;
      pool_.put(local_.free);
    }

    [[gnu::always_inline]] void* acquire() {
      detail::brpc_thread* const own{detail::own_brpc_thread};
      if (own == nullptr) [[unlikely]] {
        return nullptr;
      }
      if (own->free.count != 0) [[likely]] {
        return own->free.items[--own->free.count];
      }
      return pool_.refill(*own);
    }
    [[gnu::always_inline]] void release(void* object) {
      detail::brpc_thread* const own{detail::own_brpc_thread};
      if (own == nullptr) [[unlikely]] {
        return;
      }
      if (own->free.count == detail::free_chunk::length) [[unlikely]] {
        pool_.put(own->free);
      }
      own->free.items[own->free.count++] = object;
    }

   private:
    brpc_model& pool_;
    detail::brpc_thread local_;
  };

 private:
  static constexpr std::size_t block_length{256};
  using memory_block = std::unique_ptr<std::array<block<Bytes>, block_length>>;

  [[gnu::noinline]] void* refill(detail::brpc_thread& own) {
    if (take(own.free)) {
      return own.free.items[--own.free.count];
    }
    if (own.fresh == own.fresh_end) {
      own.fresh = add_block();
      own.fresh_end = own.fresh + block_length * Bytes;
    }
    void* const object{own.fresh};
    own.fresh += Bytes;
    return object;
  }

  [[nodiscard]] bool take(detail::free_chunk& out) {
    std::unique_ptr<detail::free_chunk> chunk;
    {
      const std::lock_guard lock{mutex_};
      if (chunks_.empty()) {
        return false;
      }
      chunk = std::move(chunks_.back());
      chunks_.pop_back();
    }
    out.count = chunk->count;
    std::copy_n(chunk->items.begin(), chunk->count, out.items.begin());
    return true;
  }

  [[gnu::noinline]] void put(detail::free_chunk& from) {
    if (from.count == 0) {
      return;
    }
    auto chunk = std::make_unique<detail::free_chunk>(from);
    from.count = 0;
    const std::lock_guard lock{mutex_};
    chunks_.push_back(std::move(chunk));
  }

  [[nodiscard]] std::byte* add_block() {
    memory_block added{new std::array<block<Bytes>, block_length>};
    const std::lock_guard lock{mutex_};
    blocks_.push_back(std::move(added));
    return blocks_.back()->front().bytes;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<detail::free_chunk>> chunks_;
  std::vector<memory_block> blocks_;
};

}  // namespace lido_bench
