/// @file
/// Threads of which one runs at a time, so that what they do is the same in every run.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

namespace fuzz {

/// Member 0 is the thread that makes the crew. The others are threads that start when first needed,
/// and end on request, or with the crew.
class crew {
 public:
  static constexpr std::size_t size = 4;

  crew();
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;
  ~crew();

  /// Runs `body` in the thread of `member` and waits for its end. Member 0 may call it for all, a
  /// running body only for the others. Requires: !busy(member).
  void run_as(std::size_t member, const std::function<void()>& body);

  /// Ends the thread of `member`, if it has one; a later `run_as` starts a new one.
  /// Requires: !busy(member), member > 0.
  void end(std::size_t member);

  /// Returns whether a body of this member is running, or waiting for one of another member.
  [[nodiscard]] bool busy(std::size_t member) const { return busy_[member]; }

  /// Returns how many members have a thread now.
  [[nodiscard]] std::size_t alive() const;

 private:
  class worker;

  std::array<std::unique_ptr<worker>, size> workers_;
  std::array<bool, size> busy_{};
};

}  // namespace fuzz
