/// @file
/// boost::pool under a std::mutex, with the calls that do not keep the free list in order.
#pragma once

#include <boost/pool/pool.hpp>
#include <mutex>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class boost_pool : public contender_defaults {
 public:
  static constexpr std::string_view name{"boost_pool"};

  explicit boost_pool(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(boost_pool& pool) : pool_{pool} {}
    [[gnu::always_inline]] void* acquire() {
      const std::lock_guard lock{pool_.mutex_};
      return pool_.pool_.malloc();
    }
    [[gnu::always_inline]] void release(void* object) {
      const std::lock_guard lock{pool_.mutex_};
      pool_.pool_.free(object);
    }

   private:
    boost_pool& pool_;
  };

 private:
  std::mutex mutex_;
  boost::pool<> pool_{Bytes};
};

}  // namespace lido_bench
