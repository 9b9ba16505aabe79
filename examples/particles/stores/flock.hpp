/// @file
/// Leases of one pool that many threads add to, walk and release.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace particles {

/// Any thread may call `add`; between two phases of adding one thread calls `settle`. A walk runs
/// on all cores, and the visiting thread releases each lease that is not kept.
template <class Lease>
class flock {
 public:
  void add(Lease one) { newcomers_.local().push_back(std::move(one)); }

  void settle() {
    for (std::vector<Lease>& some : newcomers_) {
      std::move(some.begin(), some.end(), std::back_inserter(settled_));
      some.clear();
    }
  }

  template <class Keep>
  void walk(const Keep& keep) {
    std::vector<std::size_t> kept((settled_.size() + block - 1) / block);
    tbb::parallel_for(std::size_t{0}, kept.size(), [&](std::size_t number) {
      const std::size_t first = number * block;
      kept[number] = walk(first, std::min(first + block, settled_.size()), keep) - first;
    });
    close_gaps(kept);
  }

  /// Calls `see(address, particle)` on all cores.
  template <class See>
  void visit(const See& see) const {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, settled_.size(), block),
                      [&](const tbb::blocked_range<std::size_t>& part) {
                        for (std::size_t i = part.begin(); i != part.end(); ++i) {
                          fetch_ahead(i, settled_.size());
                          // NOLINTNEXTLINE(*-reinterpret-cast): the address is only compared
                          see(reinterpret_cast<std::uintptr_t>(settled_[i].get()), *settled_[i]);
                        }
                      });
  }

 private:
  static constexpr std::size_t block = 4096;

  /// Prefetches: particles are scattered over the slots, so each access would be a cache miss.
  void fetch_ahead(std::size_t at, std::size_t last) const {
    constexpr std::size_t ahead = 24;
    if (at + ahead < last) {
      __builtin_prefetch(settled_[at + ahead].get());
    }
  }

  /// Moves kept leases to the front of the range and releases the others; returns the end of the
  /// kept ones.
  template <class Keep>
  std::size_t walk(std::size_t first, std::size_t last, const Keep& keep) {
    std::size_t end = first;
    for (std::size_t i = first; i < last; ++i) {
      fetch_ahead(i, last);
      if (!keep(*settled_[i])) {
        settled_[i].reset();
      } else if (i == end) {
        ++end;
      } else {
        settled_[end++] = std::move(settled_[i]);
      }
    }
    return end;
  }

  void close_gaps(const std::vector<std::size_t>& kept) {
    auto end = settled_.begin();
    for (std::size_t number = 0; number < kept.size(); ++number) {
      const auto first = settled_.begin() + static_cast<std::ptrdiff_t>(number * block);
      end = first == end ? first + static_cast<std::ptrdiff_t>(kept[number])
                         : std::move(first, first + static_cast<std::ptrdiff_t>(kept[number]), end);
    }
    settled_.erase(end, settled_.end());
  }

  std::vector<Lease> settled_;
  tbb::enumerable_thread_specific<std::vector<Lease>> newcomers_;
};

}  // namespace particles
