/// @file
/// Many waits with one stop token, all of them stopped at once.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>
#include <vector>

#include "record.hpp"
#include "subject.hpp"

namespace chaos {

class storm {
 public:
  static constexpr unsigned size = 64;

  storm(record& all, std::chrono::milliseconds bound) : crew_(std::make_shared<crew>(all, bound)) {}

  /// Begins the waits. A callback that is served keeps its lease until the storm has ended.
  /// Otherwise a few resources, passed from one to the next, would serve all callbacks before the
  /// stop.
  void gather(pool_type& pool) {
    for (unsigned i = 0; i < size; ++i) {
      ++crew_->all.callbacks;
      pool.async_acquire([crew = crew_](result_type got) { crew->end(std::move(got)); }, far_off,
                         stop_.get_token());
    }
  }

  /// Stops all waits. Called from any thread.
  void stop() {
    crew_->stopped = clock::now();
    (void)stop_.request_stop();
    record::raise(crew_->all.most_cancelled_at_once, std::uint64_t{crew_->cancelled});
    crew_->disband();
  }

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  /// So late that a wait is stopped, served or refused, but never times out.
  static constexpr std::chrono::seconds far_off{20};

  struct crew {
    crew(record& to, std::chrono::milliseconds within) : all(to), bound(within) {
      kept.reserve(size);  // callbacks must not throw
    }

    void end(result_type got) {
      all.note_end(stopped, bound);
      if (got) {
        keep(std::move(got.lease()));
      } else {
        all.note_refusal(got.failure());
        cancelled += got.failure() == lido::acquire_failure::cancelled ? 1U : 0U;
      }
      ++all.called;
    }

    /// Ends the leases after the mutex is unlocked, since a release may call others of the crew.
    void disband() {
      std::vector<lease_type> last;
      const std::lock_guard guard(mutex);
      is_over = true;
      last.swap(kept);
    }

    void keep(lease_type lease) {
      const std::lock_guard guard(mutex);
      if (!is_over) {
        kept.push_back(std::move(lease));
      }
    }

    record& all;
    std::chrono::milliseconds bound;
    std::atomic<clock::time_point> stopped{clock::time_point::max()};
    std::atomic<unsigned> cancelled{0};
    std::mutex mutex;
    bool is_over = false;
    std::vector<lease_type> kept;
  };

  std::shared_ptr<crew> crew_;
  std::stop_source stop_;
};

}  // namespace chaos
