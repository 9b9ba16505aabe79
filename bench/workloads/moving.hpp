/// @file
/// `moving`: every thread acquires an object and puts it into the mailbox of the next thread, then
/// releases one of its own mailbox. There are 8 objects for each thread, so what was flushed by one
/// thread is soon needed by another.
#pragma once

#include <boost/lockfree/spsc_queue.hpp>

#include "step.hpp"

namespace lido_bench {

struct moving {
  static constexpr std::string_view name{"moving"};
  static constexpr std::size_t objects_a_thread{8};
  static constexpr unsigned operations{2};
  // None: as in near_exhaustion.
  static constexpr std::uint64_t warm_up{0};
  /// Half of what there is, so that no acquire need ever fail.
  using mailbox = boost::lockfree::spsc_queue<void*, boost::lockfree::capacity<4>>;

  /// A full mailbox takes nothing: then the thread releases its object itself.
  template <typename Pool>
  static void run(Pool& pool, std::span<mailbox> mailboxes, lane& self) {
    mailbox& own{mailboxes[self.index()]};
    mailbox& next{mailboxes[(self.index() + 1) % mailboxes.size()]};
    typename Pool::session session{pool};
    for (const std::uint64_t iterations : self.phases()) {
      self.enter_phase();
      for (std::uint64_t i{0}; i < iterations; ++i) {
        void* object{take<Pool>(session, self)};
        if (!next.push(object) || own.pop(object)) {
          give(session, object);
        }
      }
    }
    self.stop();
  }
};

}  // namespace lido_bench
