// The jobs of an engine, with or without exceptions: the main thread makes them, workers run and
// release them.
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <latch>
#include <lido/object_pool.hpp>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

constexpr int jobs_per_frame = 10'000;

struct frame {
  std::latch done{jobs_per_frame};
  std::atomic<long> sum{0};
};

// Work to be done, with space for what it needs: one slot of the pool.
class job {
 public:
  job(frame& now, int first) : frame_(now) { std::iota(input_.begin(), input_.end(), first); }
  void run() { frame_.sum.fetch_add(std::accumulate(input_.begin(), input_.end(), 0L)); }
  [[nodiscard]] frame& its_frame() const { return frame_; }

 private:
  frame& frame_;
  std::array<int, 12> input_{};
};
using job_lease = lido::lease<job>;

class job_queue {
 public:
  void push(job_lease one) {
    {
      const std::lock_guard guard(mutex_);
      jobs_.push_back(std::move(one));
    }
    came_.notify_one();
  }
  // Returns an empty lease if there is no job.
  job_lease try_pop() {
    const std::lock_guard guard(mutex_);
    return take();
  }
  // Waits; returns an empty lease once the queue has been closed.
  job_lease pop() {
    std::unique_lock guard(mutex_);
    came_.wait(guard, [this] { return !jobs_.empty() || closed_; });
    return take();
  }
  void close() {
    {
      const std::lock_guard guard(mutex_);
      closed_ = true;
    }
    came_.notify_all();
  }

 private:
  job_lease take() {
    job_lease first;
    if (!jobs_.empty()) {
      first = std::move(jobs_.front());
      jobs_.pop_front();
    }
    return first;
  }
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<job_lease> jobs_;
  bool closed_ = false;
};

// [snippet run]
void run(job_lease one) {
  frame& its_frame = one->its_frame();
  one->run();
  one.reset();  // the slot goes back, from whichever thread this is
  its_frame.done.count_down();
}
// [/snippet]

int main() {
  // [snippet main]
  lido::object_pool<job> jobs{{.capacity = 1024, .name = "jobs", .warm = true}};
  job_queue waiting;
  std::array<std::thread, 3> workers;
  for (std::thread& each : workers) {
    each = std::thread([&] {
      while (job_lease next = waiting.pop()) {
        run(std::move(next));
      }
    });
  }
  std::array<frame, 3> frames;
  for (frame& now : frames) {
    for (int i = 0; i < jobs_per_frame; ++i) {
      job_lease made = jobs.try_acquire(now, i);
      while (!made) {  // all 1,024 wait or run: the main thread helps
        if (job_lease next = waiting.try_pop()) {
          run(std::move(next));
        }
        made = jobs.try_acquire(now, i);
      }
      waiting.push(std::move(made));
    }
    now.done.wait();
    std::printf("a frame of %d jobs: %ld\n", jobs_per_frame, now.sum.load());
  }
  waiting.close();
  for (std::thread& each : workers) {
    each.join();
  }
  std::printf("%zu jobs in use\n", jobs.stats().in_use);
  // [/snippet]
}

// Prints:
//   a frame of 10000 jobs: 600600000
//   a frame of 10000 jobs: 600600000
//   a frame of 10000 jobs: 600600000
//   0 jobs in use
