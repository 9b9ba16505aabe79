/// @file
/// Threads that the scheduler prefers to all others, for tests of threads that wait for one
/// another.
#pragma once

#ifndef _WIN32
#include <pthread.h>
#include <sched.h>
#endif

#include <chrono>
#include <ctime>
#include <thread>

namespace lido::test {

/// Message of a test that the system does not permit to run.
inline constexpr const char* no_real_time = "this process may not have real-time threads";

#ifdef _WIN32  // where the priority of a thread guarantees nothing

[[nodiscard]] inline bool try_become_real_time(int /*priority*/) {
  return false;
}
inline void end_real_time(std::thread::native_handle_type /*thread*/) {}
inline void stay_on_one_processor() {}
inline void compute_for(std::chrono::nanoseconds /*time*/) {}

#else

/// Puts the calling thread under SCHED_FIFO. Returns false if the system does not permit it.
[[nodiscard]] inline bool try_become_real_time(int priority) {
  const sched_param wanted{.sched_priority = priority};
  return ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &wanted) == 0;
}

/// Makes `thread` a normal thread again, so that it no longer keeps other threads off a processor.
inline void end_real_time(std::thread::native_handle_type thread) {
  const sched_param none{};
  (void)::pthread_setschedparam(thread, SCHED_OTHER, &none);
}

/// Restricts the calling thread to one processor, which is the same for all callers.
inline void stay_on_one_processor() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  (void)::sched_getaffinity(0, sizeof(allowed), &allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) {
      CPU_ZERO(&allowed);
      CPU_SET(cpu, &allowed);
      (void)::pthread_setaffinity_np(::pthread_self(), sizeof(allowed), &allowed);
      return;
    }
  }
}

/// Computes until the thread has used a processor for `time`.
inline void compute_for(std::chrono::nanoseconds time) {
  const auto used = [] {
    timespec now{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto end = used() + time;
  while (used() < end) {
  }
}

#endif

}  // namespace lido::test
