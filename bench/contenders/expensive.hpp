/// @file
/// Objects that are expensive to create, and contenders that keep them or create them each time.
#pragma once

#include <cstddef>
#include <lido/object_pool.hpp>
#include <memory>
#include <vector>
#ifdef LIDO_BENCH_LOCKFREE
#include <boost/lockfree/stack.hpp>
#endif

#include "contender.hpp"

namespace lido_bench {

/// A session of some protocol, which allocates and clears its buffer when it is made.
class expensive {
 public:
  void reset() { used_ = 0; }

 private:
  std::vector<std::byte> buffer_ = std::vector<std::byte>(4096);
  std::size_t used_ = 0;
};

struct reset_when_activated {
  static void activate(expensive& object) noexcept { object.reset(); }
};

struct kept_traits : lido::pool_traits<expensive> {
  using hooks = reset_when_activated;
};

template <typename Traits>
class expensive_pool : public contender_defaults {
 public:
  static constexpr bool fixed_capacity{true};
  explicit expensive_pool(const sizing& size) : pool_{size.capacity} {}

  class session {
   public:
    explicit session(expensive_pool& pool) : pool_{pool.pool_} {}
    [[gnu::always_inline]] void* acquire() { return pool_.try_acquire_ptr(); }
    [[gnu::always_inline]] void release(void* object) {
      pool_.release(static_cast<expensive*>(object));
    }

   private:
    lido::object_pool<expensive, Traits>& pool_;
  };

 private:
  lido::object_pool<expensive, Traits> pool_;
};

struct lido_kept : expensive_pool<kept_traits> {
  static constexpr std::string_view name{"lido_keep_constructed"};
  using expensive_pool::expensive_pool;
};

struct lido_each_time : expensive_pool<lido::pool_traits<expensive>> {
  static constexpr std::string_view name{"lido_construct_each_time"};
  using expensive_pool::expensive_pool;
};

class expensive_new : public contender_defaults {
 public:
  static constexpr std::string_view name{"new_delete"};
  explicit expensive_new(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(expensive_new& /*pool*/) {}
    [[gnu::always_inline]] void* acquire() { return new expensive; }
    [[gnu::always_inline]] void release(void* object) { delete static_cast<expensive*>(object); }
  };
};

#ifdef LIDO_BENCH_LOCKFREE
/// A contender with all objects made at the start, their addresses in a boost::lockfree::stack.
class expensive_boost : public contender_defaults {
 public:
  static constexpr std::string_view name{"boost_stack_of_kept"};
  explicit expensive_boost(const sizing& size) : objects_(size.capacity), free_(size.capacity) {
    for (expensive& object : objects_) {
      free_.bounded_push(&object);
    }
  }

  class session {
   public:
    explicit session(expensive_boost& pool) : free_{pool.free_} {}
    [[gnu::always_inline]] void* acquire() {
      expensive* object{nullptr};
      if (!free_.pop(object)) {
        return nullptr;
      }
      object->reset();
      return object;
    }
    [[gnu::always_inline]] void release(void* object) {
      free_.bounded_push(static_cast<expensive*>(object));
    }

   private:
    boost::lockfree::stack<expensive*, boost::lockfree::fixed_sized<true>>& free_;
  };

 private:
  std::vector<expensive> objects_;
  boost::lockfree::stack<expensive*, boost::lockfree::fixed_sized<true>> free_;
};
#endif

}  // namespace lido_bench
