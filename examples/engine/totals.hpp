/// @file
/// The counts of the whole input by file type, and the serial run that determines them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "corpus.hpp"
#include "counts.hpp"

namespace demo {

class totals {
 public:
  explicit totals(std::size_t types);

  void add(std::uint32_t type, const counts& part) noexcept { by_type_[type].add(part); }
  void add(const totals& part) noexcept;

  [[nodiscard]] const std::vector<counts>& by_type() const noexcept { return by_type_; }
  [[nodiscard]] counts sum() const noexcept;

 private:
  std::vector<counts> by_type_;
};

/// Scans every file as a whole, one after another: no chunks, no job objects, no threads.
totals count_serially(const corpus& input);

/// Returns one line for each number of `actual` that differs from `expected`; empty if all are
/// equal.
std::vector<std::string> differences(const totals& expected, const totals& actual,
                                     const std::vector<std::string>& types);

}  // namespace demo
