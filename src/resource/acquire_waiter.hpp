/// @file
/// Internal. One wait for a resource: of a thread, a callback or a coroutine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "../concurrency/wait_word.hpp"
#include "create_outcome.hpp"
#include "lease_monitor.hpp"
#include "lido/resource/deadline_heap.hpp"
#include "lido/resource/factory_hooks.hpp"
#include "lido/resource/slot.hpp"
#include "lido/resource/stats.hpp"

namespace lido::inline v0::detail {

class acquire_waiter;
class slot_group;

/// What a failed acquire reports: the numbers of its group at that moment.
struct refusal {
  resource_pool_stats counts;
  std::size_t total_live = 0;               ///< resources of all keys
  std::size_t max_total = 0;                ///< 0: a pool without keys
  std::shared_ptr<const std::string> pool;  ///< name with the key; null without keys
  std::shared_ptr<const create_failure_text> error;
  holder_list holders;
};

/// What a waiter was given.
enum class grant_kind : std::uint8_t {
  resource,  ///< fit for use
  validate,  ///< to be validated by the waiter, which uses it if it is valid
  create     ///< an empty slot: the waiter creates the resource, in a pool without threads
};

/// The time and the order in which a waiter arrived.
struct arrival {
  nanos at = 0;            ///< real time
  std::int64_t order = 0;  ///< over all groups
  bool is_urgent = false;  ///< served before others, also from the reserve
};

/// What one waiter has seen of silent resources, which do not answer their validation.
struct met_silence {
  bool in_validation = false;    ///< one that the waiter itself has validated
  bool has_replacement = false;  ///< another has been closed, so that one is created for it
};

/// The neighbours of a waiter in a acquire_queue.
struct queue_links {
  bool is_linked = false;
  acquire_waiter* next = nullptr;
  acquire_waiter* previous = nullptr;
};

/// One wait of a thread, on its stack, or of a callback, on the heap.
///
/// The pool's mutex guards everything except `word`, which the waiting thread and the kernel both
/// change without it. Once the wait has ended, `grant` and `kind` belong to the waiter.
class alignas(no_false_sharing) acquire_waiter : public heap_hook<acquire_waiter> {
 public:
  /// Runs a callback whose wait has ended, without locks; null: a thread sleeps.
  using delivery = void (*)(acquire_waiter&) noexcept;

  acquire_waiter(deadline latest, std::uint32_t of_thread, delivery to = nullptr) noexcept
      : until(latest), thread(of_thread), deliver(to), may_look(to == nullptr) {}
  acquire_waiter(const acquire_waiter&) = delete;
  acquire_waiter& operator=(const acquire_waiter&) = delete;
  ~acquire_waiter() = default;

  [[nodiscard]] acquire_failure cause() const noexcept {
    return static_cast<acquire_failure>(word.cause());
  }
  [[nodiscard]] bool is_callback() const noexcept { return deliver != nullptr; }
  /// Returns true if the waiter comes back: what it was given to validate or to create was
  /// unusable.
  [[nodiscard]] bool comes_back() const noexcept { return kind != grant_kind::resource; }
  /// Returns true if the deadline has passed, unless the acquire takes only what is available at
  /// once.
  [[nodiscard]] bool is_late(nanos real) const noexcept {
    return until.nanoseconds() <= real && !until.is_at_once();
  }

  wait_word word;
  deadline until;              ///< real time; changed when a waiter waits for an answer
  const std::uint32_t thread;  ///< 0: a callback
  const delivery deliver;
  slot_group* group = nullptr;
  slot_grant grant;
  grant_kind kind = grant_kind::resource;
  arrival came;
  nanos wakes_at = never;  ///< real time at which a thread that looks for itself looks next
  bool is_awake = false;   ///< a thread that looks for a resource before it sleeps
  bool may_look;           ///< false: a callback, or a thread in one, which may be for long
  bool holds = false;      ///< its thread holds a resource of the pool
  met_silence silence;
  refusal why;  ///< report of a wait that ends without a resource
  queue_links links;
};

}  // namespace lido::inline v0::detail
