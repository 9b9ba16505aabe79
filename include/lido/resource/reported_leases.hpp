/// @file
/// Internal. Of which leases a pool has said that they are out for too long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "lido/resource/resource_slot.hpp"
#include "lido/resource/stats.hpp"

namespace lido::detail {

/// Until somebody says that they have come back. Its holder sees the mark of such a lease and says
/// so at once; where the mark came in the moment in which it gave back, nobody saw it, and who
/// reports next finds the lease over. Not safe from several threads: under the mutex of the pool.
class reported_leases {
 public:
  /// False: it was there already, and has newer `info` now. Throws std::bad_alloc.
  bool add(const resource_slot& slot, std::uint32_t lease, const lease_info& info) {
    return all_.insert_or_assign({&slot, lease}, info).second;
  }
  /// Whether it was there.
  bool remove(const resource_slot& slot, std::uint32_t lease) noexcept {
    return all_.erase({&slot, lease}) != 0;
  }
  [[nodiscard]] bool has_over() const noexcept {
    return std::any_of(all_.begin(), all_.end(), is_over);
  }
  /// One that has ended; it is not there any more.
  [[nodiscard]] std::optional<lease_info> take_over() noexcept {
    const auto there = std::find_if(all_.begin(), all_.end(), is_over);
    if (there == all_.end()) {
      return std::nullopt;
    }
    std::optional<lease_info> info(std::move(there->second));
    all_.erase(there);
    return info;
  }

 private:
  using reported = std::map<std::pair<const resource_slot*, std::uint32_t>, lease_info>;

  static bool is_over(const reported::value_type& one) noexcept {
    const auto& [slot, lease] = one.first;
    const life_word word = slot->word();
    return word.lease() != lease || word.state() != life_state::in_use;
  }

  reported all_;
};

}  // namespace lido::detail
