/// @file
/// boost::object_pool under a std::mutex.
///
/// The pool keeps its free list ordered by address, so a release walks the list: the cost grows
/// with the number of free objects. The contender calls malloc and free instead of construct and
/// destroy, because the objects stay uninitialised here.
#pragma once

#include <boost/pool/object_pool.hpp>
#include <mutex>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class boost_object_pool : public contender_defaults {
 public:
  static constexpr std::string_view name{"boost_object_pool"};

  explicit boost_object_pool(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(boost_object_pool& pool) : pool_{pool} {}
    [[gnu::always_inline]] void* acquire() {
      const std::lock_guard lock{pool_.mutex_};
      return pool_.pool_.malloc();
    }
    [[gnu::always_inline]] void release(void* object) {
      const std::lock_guard lock{pool_.mutex_};
      pool_.pool_.free(static_cast<block<Bytes>*>(object));
    }

   private:
    boost_object_pool& pool_;
  };

 private:
  std::mutex mutex_;
  boost::object_pool<block<Bytes>> pool_;
};

}  // namespace lido_bench
