/// @file
/// `handoff`: an object is acquired in one thread, sent through a ring of 1024 pointers, and
/// released in another.
#pragma once

#include <boost/lockfree/spsc_queue.hpp>
#include <memory>

#include "step.hpp"

namespace lido_bench {

struct handoff {
  static constexpr std::string_view name{"handoff"};
  static constexpr unsigned operations{1};  // each thread does one half
  static constexpr std::uint64_t warm_up{4096};
  static constexpr std::size_t ring_length{1024};
  using ring = boost::lockfree::spsc_queue<void*, boost::lockfree::capacity<ring_length>>;

  /// Even lanes acquire, odd lanes release; lanes 2k and 2k+1 share ring k.
  template <typename Pool>
  static void run(Pool& pool, std::span<ring> rings, lane& self) {
    ring& between{rings[self.index() / 2]};
    if (self.index() % 2 == 0) {
      produce(pool, between, self);
    } else {
      consume(pool, between, self);
    }
  }

 private:
  static constexpr unsigned spins{64};

  template <typename Pool>
  static void produce(Pool& pool, ring& out, lane& self) {
    typename Pool::session session{pool};
    for (const std::uint64_t iterations : self.phases()) {
      self.enter_phase();
      for (std::uint64_t i{0}; i < iterations; ++i) {
        void* const object{take<Pool>(session, self)};
        send(out, object, self);
      }
    }
    self.stop();
  }

  template <typename Pool>
  static void consume(Pool& pool, ring& in, lane& self) {
    typename Pool::session session{pool};
    for (const std::uint64_t iterations : self.phases()) {
      self.enter_phase();
      for (std::uint64_t i{0}; i < iterations; ++i) {
        give(session, receive(in, self));
      }
    }
    self.stop();
  }

  [[gnu::always_inline]] static void send(ring& out, void* object, lane& self) {
    for (unsigned spin{0}; !out.push(object); ++spin) {
      pause(self, spin);
    }
  }

  [[gnu::always_inline]] static void* receive(ring& in, lane& self) {
    void* object{nullptr};
    for (unsigned spin{0}; !in.pop(object); ++spin) {
      pause(self, spin);
    }
    return object;
  }

  /// Waits for the other end, which may be on the same core: after a short spin it must get to run.
  static void pause(lane& self, unsigned spin) {
    if (spin < spins) {
      spin_pause();
    } else {
      self.wait_for_peer();
    }
  }
};

}  // namespace lido_bench
