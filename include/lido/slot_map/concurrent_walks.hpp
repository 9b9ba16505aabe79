/// @file
/// Public: the walks of a concurrent_slot_map.
#pragma once

#include <cstdint>

#include "lido/slot_map/parallel.hpp"
#include "lido/slot_map/step.hpp"

namespace lido::detail {

/// Base of `concurrent_slot_map`, which is `Map`. That class says which values a walk meets.
///
/// A callback takes `(T&)`, `(T&, handle)` or `(T&, handle, map&)`; `step` says what it may return.
/// A walk on several threads calls `f` from all of them, perhaps at once. There a stop ends only
/// the range that an executor is at (lido/tbb.hpp has `lido::par`).
///
/// If `f` throws, the walk ends and rethrows. What was done stays, and the value that `f` was with
/// is not erased. On several threads the executor decides what becomes of the rest. Thread-safe,
/// except for `for_each_alone`. Progress: blocking at each value for as long as other threads are
/// with it; never between values.
template <class Map>
class concurrent_walks {
 public:
  /// Calls `f` alone with each value, in the order of memory. True: the walk came to its end.
  /// Waits at each value as `visit`. Throws what `f` throws.
  template <class F>
  bool for_each(F&& f) {
    return walk(f, 0, self().slots_.end());
  }

  /// As above with `f(const T&)`, beside other readers; f returns nothing or bool. Waits at each
  /// value as `read`.
  template <class F>
  bool for_each(F&& f) const {
    return read_each(f, 0, self().slots_.end());
  }

  /// As the first, on as many threads as `executor` likes. Throws what the executor throws, which
  /// passes on what `f` threw if it is `lido::par`.
  template <parallel_executor Executor, class F>
  void for_each(const Executor& executor, F f) {
    executor(self().slots_.end(),
             [&](std::uint32_t first, std::uint32_t last) { (void)walk(f, first, last); });
  }

  /// As the second, on as many threads as `executor` likes. Throws as above.
  template <parallel_executor Executor, class F>
  void for_each(const Executor& executor, F f) const {
    executor(self().slots_.end(),
             [&](std::uint32_t first, std::uint32_t last) { (void)read_each(f, first, last); });
  }

  /// As the first, for a time when no other thread is there, such as between two frames. It enters
  /// no value, so it costs little more than a look at each, and never waits. Requires: no other
  /// thread is in a call; what they did before happens before this, and this before what they do
  /// next. `f` may insert and erase, but not evict. It erases its own value only by what it
  /// returns.
  template <class F>
  bool for_each_alone(F&& f) {
    return walk_alone(f, 0, self().slots_.end());
  }

  /// The same on as many threads as `executor` likes, which then are the only ones. `f` changes the
  /// map only by what it returns, and calls nothing of it.
  template <parallel_executor Executor, class F>
  void for_each_alone(const Executor& executor, F f) {
    executor(self().slots_.end(),
             [&](std::uint32_t first, std::uint32_t last) { (void)walk_alone(f, first, last); });
  }

 protected:
  concurrent_walks() = default;
  ~concurrent_walks() = default;

 private:
  [[nodiscard]] Map& self() noexcept { return static_cast<Map&>(*this); }
  [[nodiscard]] const Map& self() const noexcept { return static_cast<const Map&>(*this); }

  template <class F>
  bool walk(F& f, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t slot = first; slot < last; ++slot) {
      if (self().states_[slot].is_live() && stops(enter(f, slot))) {
        return false;
      }
    }
    return true;
  }

  template <class F>
  step enter(F& f, std::uint32_t slot) {
    const auto handle = self().handle_at(slot);
    step verdict = step::next;
    (void)self().visit(handle, [&](auto& value) {
      verdict = visit_with(self(), f, value, [handle] { return handle; });
      if (erases(verdict)) {
        (void)self().erase(handle);
      }
    });
    return verdict;
  }

  template <class F>
  bool read_each(F& f, std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t slot = first; slot < last; ++slot) {
      if (self().states_[slot].is_live() && stops(show(f, slot))) {
        return false;
      }
    }
    return true;
  }

  template <class F>
  step show(F& f, std::uint32_t slot) const {
    const auto handle = self().handle_at(slot);
    step verdict = step::next;
    (void)self().read(handle, [&](const auto& value) {
      verdict = visit_with(self(), f, value, [handle] { return handle; });
    });
    return verdict;
  }

  template <class F>
  bool walk_alone(F& f, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t slot = first; slot < last; ++slot) {
      if (!self().states_[slot].is_live()) {
        continue;
      }
      const auto handle = self().handle_at(slot);
      const step verdict =
          visit_with(self(), f, self().value_at(slot), [handle] { return handle; });
      if (erases(verdict)) {
        (void)self().erase(handle);
      }
      if (stops(verdict)) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace lido::detail
