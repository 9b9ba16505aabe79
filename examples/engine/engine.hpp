/// @file
/// The engine: one producer, oneTBB workers, and job objects from any source.
#pragma once

#include <tbb/concurrent_queue.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/task_group.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

#include "chunk.hpp"
#include "corpus.hpp"
#include "job_source.hpp"
#include "stopwatch.hpp"
#include "totals.hpp"

namespace demo {

struct run_result {
  totals found;
  /// Nanoseconds to acquire and release each job, failed attempts included.
  std::vector<double> pool_times;
  double seconds = 0;
  std::size_t refused = 0;  ///< times the producer found no job free
  std::size_t helped = 0;   ///< jobs it ran itself because of that
  std::size_t waited = 0;   ///< times it slept until a worker finished one
};

struct engine_limits {
  std::size_t jobs;   ///< most jobs out at once
  std::size_t drain;  ///< jobs the producer runs before it tries again to get a free one
};

/// Processes the input in one run, called inside a task_arena.
template <job_source Source>
class engine {
 public:
  engine(Source& source, const corpus& input, const engine_limits& limits)
      : source_(source), input_(input), limits_(limits), results_(totals(input.types.size())) {}

  run_result run(std::span<const chunk> work) {
    run_result result{.found = totals(input_.types.size()),
                      .pool_times = std::vector<double>(work.size())};
    pool_times_ = result.pool_times;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < work.size(); ++i) {
      ready_.push(take(work[i], i, result));
      workers_.run([this] { run_one(); });
    }
    workers_.wait();
    for (const totals& part : results_) {
      result.found.add(part);
    }
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

 private:
  /// Returns a free job, set to `piece`. While none is free the producer runs some jobs itself;
  /// when workers have all of them, it sleeps until one is done.
  job* take(const chunk& piece, std::size_t index, run_result& tally) {
    double nanoseconds = 0;
    for (;;) {
      // Read before the attempt: a job that is released after it then changes the number, and the
      // wait below returns.
      const std::size_t finished = finished_.load();
      if (job* free = try_take(index - finished, nanoseconds)) {
        free->start(piece, index, nanoseconds);
        return free;
      }
      ++tally.refused;
      if (const std::size_t helped = help(); helped > 0) {
        tally.helped += helped;
      } else {
        ++tally.waited;
        finished_.wait(finished);
      }
    }
  }

  /// Runs more than one job at a time: otherwise the producer would find the pool empty before
  /// every job.
  std::size_t help() {
    std::size_t helped = 0;
    while (helped < limits_.drain && run_one()) {
      ++helped;
    }
    return helped;
  }

  /// Tries to acquire. new knows no limit, so the engine counts for it, as a pool does by itself.
  job* try_take(std::size_t out, double& nanoseconds) {
    if (!Source::bounded && out >= limits_.jobs) {
      return nullptr;
    }
    return watch_.time(nanoseconds, [this] { return source_.acquire(); });
  }

  /// Runs a job; returns false if there is none. Each job has a task, but the producer may have run
  /// it.
  bool run_one() {
    job* next = nullptr;
    if (!ready_.try_pop(next)) {
      return false;
    }
    next->run(input_);
    results_.local().add(input_.files[next->work.file].type, next->result);
    finish(next);
    return true;
  }

  void finish(job* done) noexcept {
    const std::size_t number = done->number;
    double nanoseconds = done->acquired_in;
    watch_.time(nanoseconds, [this, done] {
      source_.release(done);
      return true;
    });
    pool_times_[number] = nanoseconds;
    finished_.fetch_add(1);
    finished_.notify_one();
  }

  Source& source_;
  const corpus& input_;
  engine_limits limits_;
  stopwatch watch_;
  std::span<double> pool_times_;
  std::atomic<std::size_t> finished_ = 0;
  tbb::concurrent_queue<job*> ready_;
  tbb::enumerable_thread_specific<totals> results_;
  tbb::task_group workers_;
};

}  // namespace demo
