/// @file
/// The single steps of all workloads, the same for every contender.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <span>

#include "team.hpp"

namespace lido_bench {

/// Makes the compiler take the pointer as used and all memory as changed. The const overload keeps
/// the pointer in a register. With GCC the other overload would send it through the stack, at the
/// cost of a store and a load that no contender has caused.
[[gnu::always_inline]] inline void keep(void* const& object) {
  benchmark::DoNotOptimize(object);
  benchmark::ClobberMemory();
}

/// Tries again until there is an object. Inlined, so that the session never needs an address.
template <typename Session>
[[gnu::always_inline]] inline void* retry(Session& session, lane& self) {
  const bench_clock::time_point since{bench_clock::now()};
  void* object{nullptr};
  do {
    self.failed_once(since);
    object = session.acquire();
  } while (object == nullptr);
  return object;
}

/// Acquires one object; when there is none, waits until there is.
template <typename Pool, typename Session>
[[gnu::always_inline]] inline void* take(Session& session, lane& self) {
  void* object{session.acquire()};
  if constexpr (!Pool::never_fails) {
    if (object == nullptr) [[unlikely]] {
      object = retry(session, self);
    }
  }
  keep(object);
  return object;
}

template <typename Session>
[[gnu::always_inline]] inline void give(Session& session, void* object) {
  session.release(object);
  benchmark::ClobberMemory();
}

/// Acquires as many objects as `held` has elements. Gives all back when it starves.
template <typename Pool, typename Session>
[[gnu::always_inline]] inline void take_all(Session& session, lane& self, std::span<void*> held) {
  std::size_t count{0};
  try {
    for (; count < held.size(); ++count) {
      held[count] = take<Pool>(session, self);
    }
  } catch (const starvation&) {
    for (void* const object : held.first(count)) {
      session.release(object);
    }
    throw;
  }
}

/// Releases in the order of acquisition, as a program does that walks its objects.
template <typename Session>
[[gnu::always_inline]] inline void give_all(Session& session, std::span<void* const> held) {
  for (void* const object : held) {
    give(session, object);
  }
}

}  // namespace lido_bench
