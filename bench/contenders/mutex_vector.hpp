/// @file
/// The usual first pool: a vector of free objects under a std::mutex.
#pragma once

#include <mutex>
#include <vector>

#include "contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class mutex_vector : public contender_defaults {
 public:
  static constexpr std::string_view name{"mutex_vector"};
  static constexpr bool fixed_capacity{true};

  explicit mutex_vector(const sizing& size) : memory_{size.capacity} {
    free_.reserve(size.capacity);
    for (std::size_t i{0}; i < size.capacity; ++i) {
      free_.push_back(memory_[i]);
    }
  }

  class session {
   public:
    explicit session(mutex_vector& pool) : pool_{pool} {}
    [[gnu::always_inline]] void* acquire() {
      const std::lock_guard lock{pool_.mutex_};
      if (pool_.free_.empty()) {
        return nullptr;
      }
      void* const object{pool_.free_.back()};
      pool_.free_.pop_back();
      return object;
    }
    [[gnu::always_inline]] void release(void* object) {
      const std::lock_guard lock{pool_.mutex_};
      pool_.free_.push_back(object);
    }

   private:
    mutex_vector& pool_;
  };

 private:
  slab<Bytes> memory_;
  std::mutex mutex_;
  std::vector<void*> free_;
};

}  // namespace lido_bench
