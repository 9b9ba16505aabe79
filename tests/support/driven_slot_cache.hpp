/// @file
/// A slot_cache that one thread drives step by step, in the roles of the owner and its thieves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lido/allocator/slot_cache.hpp"

namespace lido::test {

/// Returns the item for `number`, which is at least 1. Items are fictitious addresses.
inline void* item(std::uintptr_t number) {
  return reinterpret_cast<void*>(number * 64);  // NOLINT(performance-no-int-to-ptr)
}

/// A cache, and the word before it that a failing pop reads.
struct lone_cache {
  std::array<detail::slot_cache::cell, 8> before;
  detail::slot_cache cache;
};

/// A cache with space for `limit` items. The owner's functions do what slot_allocator does around
/// the cache, either as a whole or in two steps: the hit path, and whatever follows if that fails.
class driven_slot_cache {
 public:
  static constexpr std::uint32_t limit = 8;
  using items = std::vector<void*>;
  using settled = detail::slot_cache::settled;

  explicit driven_slot_cache(lido::cache_kind kind) : kind_(kind) {
    (void)cache_.settle(kind_);
    cache_.use_cells(first_cells_);
    cache_.open(kind_, 0, limit);
  }

  [[nodiscard]] detail::slot_cache& cache() { return cache_; }
  [[nodiscard]] lido::cache_kind kind() const { return kind_; }
  [[nodiscard]] detail::slot_cache::phase state() const { return cache_.state().now(); }
  [[nodiscard]] std::uint32_t count() const { return cache_.visible_count(kind_); }

  /// Pushes as the owner; returns false if the cache was full, so that the owner still holds the
  /// item.
  bool push(void* what) {
    return (kind_ != lido::cache_kind::locked && cache_.push(what)) || finish_push(what);
  }

  /// Pops as the owner; returns null if the cache was empty.
  void* pop() {
    void* found = nullptr;
    return kind_ != lido::cache_kind::locked && cache_.pop(found) ? found : finish_pop();
  }

  /// Runs the second step of a pop whose first step failed.
  void* finish_pop() {
    if (kind_ == lido::cache_kind::locked) {
      if (void* const found = cache_.pop_locked(); found != nullptr) {
        return found;
      }
    }
    if (cache_.forget_operation_if_idle()) {
      return nullptr;
    }
    const settled found = cache_.settle_pop(kind_);
    cache_.open(kind_, found.count, limit);
    return found.item;
  }

  /// Runs the second step of a push whose first step failed.
  bool finish_push(void* what) {
    if (kind_ == lido::cache_kind::locked && cache_.push_locked(what, limit)) {
      return true;
    }
    settled found{what, 0, /*robbed=*/false, /*contested=*/false};
    if (cache_.forget_operation_if_idle()) {
      (void)cache_.settle(kind_);
    } else {
      found = cache_.settle_push(kind_, what);
    }
    if (found.item != nullptr && found.count < limit) {
      cache_.cells()[found.count++].store(found.item, std::memory_order_relaxed);
      found.item = nullptr;
    }
    const bool too_many = found.count > limit;  // the pushed item is on top; it is not put back
    found.count -= too_many ? 1 : 0;
    cache_.open(kind_, found.count, limit);
    return found.item == nullptr && !too_many;
  }

  void push_all(const items& all) {
    for (void* const what : all) {
      (void)push(what);
    }
  }

  [[nodiscard]] items pop_all() {
    items all;
    for (void* found = pop(); found != nullptr; found = pop()) {
      all.push_back(found);
    }
    return all;
  }

  /// Announces a thief, whatever state the cache is in.
  std::optional<detail::slot_cache::control> announce() { return cache_.revoke(cache_.state()); }

  /// Runs the thief's second step. The fence before it is not needed in a single thread.
  std::optional<items> harvest(detail::slot_cache::control announced) {
    std::array<void*, detail::slot_cache::most_items + 1> loot{};
    const auto taken = cache_.harvest(kind_, announced, loot);
    if (!taken.has_value()) {
      return std::nullopt;
    }
    return items(loot.begin(), loot.begin() + *taken);
  }

  /// Runs both steps of the thief at once.
  items rob() {
    const auto announced = announce();
    return announced.has_value() ? harvest(*announced).value_or(items{}) : items{};
  }

  /// Moves the owner's items into a larger array of cells.
  void replace_cells() {
    const settled found = cache_.settle(kind_);
    std::array<void*, limit + 1> kept{};
    for (std::uint32_t i = 0; i < found.count; ++i) {
      kept.at(i) = cache_.cells()[i].load(std::memory_order_relaxed);
    }
    cache_.use_cells(second_cells_);
    for (std::uint32_t i = 0; i < found.count; ++i) {
      cache_.cells()[i].store(kept.at(i), std::memory_order_relaxed);
    }
    cache_.open(kind_, found.count, limit);
  }

 private:
  lido::cache_kind kind_;
  std::array<detail::slot_cache::cell, limit + 2>
      first_cells_{};  // includes the spare cell, and the cell above the limit
  std::array<detail::slot_cache::cell, std::size_t{2} * limit> second_cells_{};
  detail::slot_cache cache_;
};

inline std::string kind_name(lido::cache_kind kind) {
  return kind == lido::cache_kind::revocable ? "revocable" : "locked";
}

}  // namespace lido::test
