/// @file
/// Internal. The word that decides between the owner of a cache and those who would empty it.
#pragma once

#include <cstdint>

namespace lido::detail {

/// open: the owner pops and pushes freely. revoking: a thief has announced itself. frozen: the
/// first `taken` items are no longer the owner's, and no operation completes before the owner has
/// seen it; also the state of a cache that nobody uses. busy: the owner moves items in bulk.
enum class cache_state : std::uint8_t { open, revoking, frozen, busy };

/// A cache_state, the number of items taken, and a generation that moves with every change.
///
/// 46 bits of generation: at ten million changes a second it repeats after 81 days.
class cache_control {
 public:
  constexpr cache_control() = default;
  explicit constexpr cache_control(std::uint64_t word) noexcept : word_(word) {}

  [[nodiscard]] constexpr cache_state state() const noexcept {
    return static_cast<cache_state>(word_ & 3U);
  }
  [[nodiscard]] constexpr std::uint32_t taken() const noexcept { return (word_ >> 2U) & 0xFFFFU; }
  [[nodiscard]] constexpr std::uint64_t generation() const noexcept { return word_ >> 18U; }
  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }

  /// The word that follows this one.
  [[nodiscard]] constexpr cache_control next(cache_state state,
                                             std::uint32_t taken = 0) const noexcept {
    return cache_control((generation() + 1) << 18U | std::uint64_t{taken} << 2U |
                         static_cast<std::uint64_t>(state));
  }

 private:
  std::uint64_t word_ = static_cast<std::uint64_t>(cache_state::frozen);
};

/// Most items a cache may ever hold; `taken` has room for more.
inline constexpr std::uint32_t most_cached = 1022;

}  // namespace lido::detail
