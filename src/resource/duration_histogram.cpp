#include "lido/resource/duration_histogram.hpp"

#include <algorithm>
#include <cstddef>

#include "duration_counts.hpp"
#include "sparse_durations.hpp"

namespace lido::inline v0 {

using detail::duration_buckets;

duration_histogram::duration_histogram() : counts_(duration_buckets::size) {}

void duration_histogram::add(std::chrono::nanoseconds length) noexcept {
  ++counts_[duration_buckets::index_of(length.count())];
  ++count_;
  sum_ += (std::max)(length, std::chrono::nanoseconds(0));
}

// relaxed (whole function): only statistics
void duration_histogram::add(const detail::duration_counts& others) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const std::uint64_t count = others.buckets[i].load(std::memory_order_relaxed);
    counts_[i] += count;
    count_ += count;
  }
  sum_ += std::chrono::nanoseconds(others.sum.load(std::memory_order_relaxed));
}

void duration_histogram::add(const detail::sparse_durations& others) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i] += others.count(i);
    count_ += others.count(i);
  }
  sum_ += others.sum();
}

std::chrono::nanoseconds duration_histogram::quantile(double part) const noexcept {
  const double rank = std::clamp(part, 0.0, 1.0) * static_cast<double>(count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; count_ != 0 && i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen != 0 && static_cast<double>(seen) >= rank) {
      return std::chrono::nanoseconds(duration_buckets::middle_of(i));
    }
  }
  return {};
}

std::uint64_t duration_histogram::count_up_to(std::chrono::nanoseconds length) const noexcept {
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += duration_buckets::middle_of(i) <= length.count() ? counts_[i] : 0;
  }
  return seen;
}

}  // namespace lido::inline v0
