/// @file
/// Stops a thread inside a window, for as long as another one likes. Only for executables that link
/// stall.cpp and the mutated copy of the library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stress {

/// The schedule points that the calling thread passes from now on.
class stall {
 public:
  static constexpr std::uint32_t never = 0;

  /// The calling thread stops at the n-th one from now.
  static void arm(std::uint32_t n) noexcept;

  /// The calling thread writes down where each of them is: an address in the code.
  static void record(std::vector<std::uintptr_t>& places) noexcept;

  /// Which of them to stop at: of each place in the code some of its occurrences, the first and the
  /// last among them. One: of one place the first, of the next one in the middle, then the last.
  [[nodiscard]] static std::vector<std::uint32_t> choose(const std::vector<std::uintptr_t>& places,
                                                         unsigned per_window);
  /// Places in the code.
  [[nodiscard]] static std::size_t count_windows(std::vector<std::uintptr_t> places);

  /// Waits until a thread has stopped; false: none has in ten seconds, or in one after `over`.
  [[nodiscard]] static bool wait_for_one(const std::atomic<bool>* over = nullptr) noexcept;

  /// Lets the stopped thread go on.
  static void end() noexcept;

  /// For the next victim, when the one before has ended.
  static void reset() noexcept;
};

}  // namespace stress
