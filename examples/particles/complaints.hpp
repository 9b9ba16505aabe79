/// @file
/// The errors that the checks found.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace particles {

/// Keeps the first few and counts all. Any thread may call `add`.
class complaints {
 public:
  void add(std::string what) {
    const std::lock_guard hold(guard_);
    ++count_;
    if (first_.size() < kept) {
      first_.push_back(std::move(what));
    }
  }

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] const std::vector<std::string>& first() const noexcept { return first_; }

 private:
  static constexpr std::size_t kept = 20;

  std::mutex guard_;
  std::vector<std::string> first_;
  std::size_t count_ = 0;
};

}  // namespace particles
