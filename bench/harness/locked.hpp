/// @file
/// `locked`: locked instructions per operation, and all instructions of an acquire with its
/// release, counted in the machine code that each contender runs.
///
/// The processor stops after every instruction (the trap flag of x86-64), and a signal handler
/// examines the next one. Two threads take turns, so there is no contention and no retry is
/// counted: this is the least that any number of threads pays.
#pragma once

#if defined(__x86_64__)

#include <benchmark/benchmark.h>
#include <ucontext.h>
#include <x86intrin.h>

#include <array>
#include <barrier>
#include <csignal>
#include <cstdint>
#include <string_view>

#include "run_workload.hpp"

namespace lido_bench {

namespace detail {

constexpr std::uint64_t trap_flag{0x100};
constexpr std::uint64_t most_steps{1'000'000};  // each takes 20 us in a virtual machine

// One thread steps at a time. NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
inline volatile std::uint64_t steps{0};
inline volatile std::uint64_t locked_steps{0};

/// Returns true for a LOCK prefix, and for XCHG with memory, which locks without one.
inline bool is_locked(const unsigned char* code) {
  constexpr std::string_view other_prefixes{"\x26\x2E\x36\x3E\x64\x65\x66\x67\xF2\xF3"};
  while (other_prefixes.find(static_cast<char>(*code)) != std::string_view::npos) {
    ++code;
  }
  if (*code == 0xF0) {
    return true;
  }
  code += (*code & 0xF0U) == 0x40 ? 1 : 0;  // REX
  return (*code & 0xFEU) == 0x86 && code[1] < 0xC0;
}

inline void on_step(int /*signal*/, siginfo_t* /*info*/, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  // No type of ours describes an instruction.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast,performance-no-int-to-ptr)
  if (is_locked(reinterpret_cast<const unsigned char*>(registers[REG_RIP]))) {
    locked_steps = locked_steps + 1;
  }
  steps = steps + 1;
  if (steps > most_steps) {
    registers[REG_EFL] &= ~static_cast<greg_t>(trap_flag);
  }
}

struct instruction_counts {
  std::uint64_t locked{0};
  std::uint64_t all{0};
};

/// Returns the number of instructions of `body`, with its loop.
template <typename Body>
instruction_counts count_instructions(const Body& body) {
  const instruction_counts before{locked_steps, steps};
  __writeeflags(__readeflags() | trap_flag);
  body();
  __writeeflags(__readeflags() & ~trap_flag);
  return {locked_steps - before.locked, steps - before.all};
}

/// State that both threads share; `turn` lets lane 0 and lane 1 step alternately.
struct locked_counts {
  static constexpr unsigned rounds{2};
  static constexpr unsigned warm_up{8};
  static constexpr std::size_t pairs{32};
  std::barrier<> turn{2};
  std::array<void*, lido_bench::burst::length> objects{};
  bool failed{false};  // an acquire got nothing
  instruction_counts in_pairs;
  instruction_counts in_bursts;
  std::uint64_t in_handoffs{0};  ///< locked instructions
};

template <typename Session>
void acquire_all(Session& session, locked_counts& counts) {
  for (void*& object : counts.objects) {
    object = session.acquire();
    keep(object);
  }
}

template <typename Session>
void release_all(Session& session, locked_counts& counts) {
  for (void* const object : counts.objects) {
    if (object == nullptr) {
      counts.failed = true;
    } else {
      give(session, object);
    }
  }
}

/// Counts lane 0 alone: pairs, then bursts; the last round of each is counted.
template <typename Session>
void count_alone(Session& session, locked_counts& counts) {
  const auto pairs = [&] {
    for (std::size_t i{0}; i < locked_counts::pairs; ++i) {
      void* const object{session.acquire()};
      keep(object);
      give(session, object);
    }
  };
  const auto bursts = [&] {
    acquire_all(session, counts);
    release_all(session, counts);
  };
  for (unsigned round{0}; round < locked_counts::warm_up; ++round) {
    bursts();
  }
  if (!counts.failed) {
    counts.in_bursts = count_instructions(bursts);
    pairs();
    counts.in_pairs = count_instructions(pairs);
  }
}

/// Counts a hand-off: lane 0 acquires 256 objects, then lane 1 releases them.
template <typename Session>
void count_handoff(Session& session, unsigned lane, locked_counts& counts) {
  const auto half = [&] {
    if (lane == 0) {
      acquire_all(session, counts);
    } else {
      release_all(session, counts);
    }
  };
  for (unsigned round{0}; round < locked_counts::warm_up + locked_counts::rounds; ++round) {
    if (lane == 1) {
      counts.turn.arrive_and_wait();
    }
    if (round < locked_counts::warm_up) {
      half();
    } else {
      counts.in_handoffs += count_instructions(half).locked;
    }
    if (lane == 0) {
      counts.turn.arrive_and_wait();
    }
    counts.turn.arrive_and_wait();
  }
}

template <typename Pool>
void count_in_lane(Pool& pool, unsigned lane, locked_counts& counts) {
  typename Pool::session session{pool};
  if (lane == 0) {
    count_alone(session, counts);
  }
  counts.turn.arrive_and_wait();
  if constexpr (Pool::crosses_threads) {
    count_handoff(session, lane, counts);
  }
}

}  // namespace detail

template <contender Pool>
void run_locked(benchmark::State& state) {
  struct sigaction action {};
  action.sa_sigaction = detail::on_step;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  for (auto _ : state) {
    Pool pool{sizing_for<burst>(2)};
    detail::locked_counts counts;
    detail::steps = 0;
    run_team(2, 0, 0, [&](lane& self) { detail::count_in_lane(pool, self.index(), counts); });
    if (counts.failed || detail::steps > detail::most_steps) {
      state.SkipWithError(counts.failed ? "starved" : "not counted: too many instructions");
      return;
    }
    constexpr double operations{2.0 * burst::length};
    constexpr double pairs{detail::locked_counts::pairs};
    state.counters["pair"] = static_cast<double>(counts.in_pairs.locked) / (2 * pairs);
    state.counters["burst"] = static_cast<double>(counts.in_bursts.locked) / operations;
    state.counters["pair_instructions"] = static_cast<double>(counts.in_pairs.all) / pairs;
    state.counters["burst_instructions"] =
        static_cast<double>(counts.in_bursts.all) / burst::length;
    if constexpr (Pool::crosses_threads) {
      state.counters["handoff"] =
          static_cast<double>(counts.in_handoffs) / operations / detail::locked_counts::rounds;
    }
  }
}

}  // namespace lido_bench

#endif
