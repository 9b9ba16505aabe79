/// Prints how long each of 400 frames takes with three kinds of jobs, as JSON: jobs from Lido, from
/// a pool with a mutex, and from `new`.
///
/// In a frame, each thread makes 2,500 jobs of 128 bytes, and then runs and releases those that the
/// next thread has made. The threads meet at a barrier twice in a frame.
#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "lido/object_pool.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

constexpr int frames = 400;
constexpr std::size_t jobs_of_thread = 2500;

struct job {
  explicit job(int number) : input{number} {}
  std::array<int, 32> input;
};

struct by_new {
  explicit by_new(std::size_t /*count*/) {}
  static job* make(int number) { return new job(number); }
  static void release(job* done) noexcept { delete done; }
};

class by_mutex {
 public:
  explicit by_mutex(std::size_t count)
      : memory_(std::make_unique<std::byte[]>(count * sizeof(job))) {
    for (std::size_t i = 0; i < count; ++i) {
      free_.push_back(memory_.get() + i * sizeof(job));
    }
  }
  job* make(int number) {
    const std::scoped_lock lock(mutex_);
    std::byte* const slot = free_.back();
    free_.pop_back();
    return ::new (static_cast<void*>(slot)) job(number);
  }
  void release(job* done) noexcept {
    std::destroy_at(done);
    const std::scoped_lock lock(mutex_);
    free_.push_back(reinterpret_cast<std::byte*>(done));
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<std::byte*> free_;
};

class by_lido {
 public:
  explicit by_lido(std::size_t count) : pool_({.capacity = count, .name = "jobs", .warm = true}) {}
  job* make(int number) { return pool_.try_acquire_ptr(number); }
  void release(job* done) noexcept { pool_.release(done); }

 private:
  lido::object_pool<job> pool_;
};

/// Returns the microseconds that each frame took.
template <class Jobs>
std::vector<double> run(std::size_t threads) {
  Jobs jobs(threads * jobs_of_thread);
  std::vector<std::vector<job*>> made(threads);
  std::vector<double> times;
  std::barrier meeting(static_cast<std::ptrdiff_t>(threads));
  auto work = [&](std::size_t me) {
    long sum = 0;
    for (int frame = 0; frame < frames; ++frame) {
      meeting.arrive_and_wait();
      const auto begin = clock_type::now();
      for (std::size_t i = 0; i < jobs_of_thread; ++i) {
        made[me].push_back(jobs.make(static_cast<int>(i)));
      }
      meeting.arrive_and_wait();
      std::vector<job*>& next = made[(me + 1) % threads];
      for (job* const each : next) {
        sum += each->input[0];
        jobs.release(each);
      }
      next.clear();
      meeting.arrive_and_wait();
      if (me == 0) {
        times.push_back(
            std::chrono::duration<double, std::micro>(clock_type::now() - begin).count());
      }
    }
    asm volatile("" : : "r"(sum));
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) {
    others.emplace_back(work, i);
  }
  work(0);
  for (std::thread& each : others) {
    each.join();
  }
  return times;
}

void print(const char* name, const std::vector<double>& times, const char* after) {
  std::printf("  {\"jobs\": \"%s\", \"us\": [", name);
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::printf("%s%.0f", i == 0 ? "" : ", ", times[i]);
  }
  std::printf("]}%s\n", after);
}

}  // namespace

int main() {
  const std::size_t threads = std::clamp(std::thread::hardware_concurrency(), 2U, 8U);
  std::printf("{\"threads\": %zu, \"runs\": [\n", threads);
  print("new and delete", run<by_new>(threads), ",");
  print("a pool with a mutex", run<by_mutex>(threads), ",");
  print("lido", run<by_lido>(threads), "");
  std::puts("]}");
}
