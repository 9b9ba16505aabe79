/// @file
/// Stops a thread inside a window, for as long as another one likes. Only for executables that link
/// stall.cpp and the mutated copy of the library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stress {

/// Controls the schedule points that the calling thread passes from now on.
class stall {
 public:
  static constexpr std::uint32_t never = 0;

  /// Makes the calling thread stop at the n-th point from now.
  static void arm(std::uint32_t n) noexcept;

  /// Makes the calling thread record the code address of each point.
  static void record(std::vector<std::uintptr_t>& places) noexcept;

  /// Returns which points to stop at: for each code address some of its occurrences, the first and
  /// the last among them. With `per_window` 1: the first of one address, the middle one of the
  /// next, then the last.
  [[nodiscard]] static std::vector<std::uint32_t> choose(const std::vector<std::uintptr_t>& places,
                                                         unsigned per_window);
  /// Returns the number of distinct code addresses.
  [[nodiscard]] static std::size_t count_windows(std::vector<std::uintptr_t> places);

  /// Waits until a thread has stopped; returns false if none has in ten seconds, or in one after
  /// `over`.
  [[nodiscard]] static bool wait_for_one(const std::atomic<bool>* over = nullptr) noexcept;

  /// Lets the stopped thread continue.
  static void end() noexcept;

  /// Prepares for the next victim, when the previous one has ended.
  static void reset() noexcept;
};

}  // namespace stress
