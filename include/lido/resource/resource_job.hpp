/// @file
/// Internal. What the threads of a resource pool do.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lido/resource/resource_slot.hpp"
#include "lido/resource/resource_waiter.hpp"

namespace lido::detail {

/// Of what callbacks wait for, see make_for_callbacks.
inline constexpr std::size_t every_one = ~std::size_t{0};

/// Who calls the factory's `validate` when a resource needs it. by_pool: one of its threads, if it
/// has any. by_caller: who takes the resource, unless it has less time than an answer may take, for
/// then it would end what may be in the best of health. at_once: who takes it, who has no time to
/// wait for anything else.
enum class validation : std::uint8_t { by_caller, by_pool, at_once };

struct resource_job {
  resource_slot* slot = nullptr;  ///< to be filled
  resource_grant question;        ///< to be validated
  bool calls = false;             ///< what the timekeeper has found; without any of these: a sweep
  bool is_brief = false;          ///< which asks one
  bool is_kept = false;           ///< by who fills the slot: for nobody who waits
  resource_waiter* by = nullptr;  ///< whose thread does it, while it waits
  const resource_hooks* since = nullptr;  ///< the factory of the pool when it was begun
  std::uint32_t epoch = 0;
  double draw = 0;
};

/// What a thread of the pool does next.
struct resource_errand {
  resource_job todo;
  bool found = false;
  bool end = false;        ///< the pool has ended
  bool help = false;       ///< start one more thread
  bool wake = false;       ///< there is work for another one, which sleeps
  std::uint32_t seen = 0;  ///< of work_
};

}  // namespace lido::detail
