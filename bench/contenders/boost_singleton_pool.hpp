/// @file
/// boost::singleton_pool with its default mutex. One pool per size for the whole program.
#pragma once

#include <boost/pool/singleton_pool.hpp>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class boost_singleton_pool : public contender_defaults {
 public:
  static constexpr std::string_view name{"boost_singleton_pool"};

  explicit boost_singleton_pool(const sizing& /*size*/) {}
  boost_singleton_pool(const boost_singleton_pool&) = delete;
  boost_singleton_pool& operator=(const boost_singleton_pool&) = delete;
  ~boost_singleton_pool() { pool::purge_memory(); }

  class session {
   public:
    explicit session(boost_singleton_pool& /*pool*/) {}
    // The ordered calls would search the list; the plain ones are its fast ones.
    [[gnu::always_inline]] void* acquire() { return pool::malloc(); }
    [[gnu::always_inline]] void release(void* object) { pool::free(object); }
  };

 private:
  struct tag {};
  using pool = boost::singleton_pool<tag, Bytes>;
};

}  // namespace lido_bench
