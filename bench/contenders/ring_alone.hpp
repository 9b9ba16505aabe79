/// @file
/// The floor of `handoff`: the ring and the two threads without a pool. The acquiring thread sends
/// the same objects again and again, the releasing thread discards them.
#pragma once

#include "contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class ring_alone : public contender_defaults {
 public:
  static constexpr std::string_view name{"ring_alone"};
  static constexpr bool only_crosses_threads{true};
  static constexpr bool never_fails{true};

  explicit ring_alone(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(ring_alone& pool) : pool_{pool} {}
    [[gnu::always_inline]] void* acquire() { return pool_.memory_[next_++ % count]; }
    [[gnu::always_inline]] void release(void* /*object*/) {}

   private:
    ring_alone& pool_;
    std::size_t next_{0};
  };

 private:
  static constexpr std::size_t count{1024};
  slab<Bytes> memory_{count};
};

}  // namespace lido_bench
