/// @file
/// Mutants of memory orders: each ordered access of the library is a site, and one may be weakened.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "checker/place.hpp"

namespace model {

/// The halves of an order that can be taken away.
enum class half : std::uint8_t { acquire, release, both };

/// One order at one place of the library. A compare-and-swap has two.
struct site {
  std::string file;  ///< from include/ or src/ on
  int line;
  std::string access;  ///< "load", "store", "change", "CAS", "failed CAS" or "... fence"
  half part;

  auto operator<=>(const site&) const = default;

  /// "src/allocator/slot_cache.cpp:122 CAS release".
  [[nodiscard]] std::string text() const;
  /// Throws std::invalid_argument.
  [[nodiscard]] static site parse(std::string_view text);
};

/// Every site that the accesses have passed since `collect(true)`.
class weakening {
 public:
  // Inline, since each access calls it.
  [[gnu::always_inline]] static weakening& now() noexcept {
    static weakening one;
    return one;
  }

  void collect(bool on) {
    collects_ = on;
    if (on) {
      sites_.clear();
      noted_.clear();
    }
  }
  [[nodiscard]] const std::set<site>& collected() const noexcept { return sites_; }

  /// From now on the order at this site is weaker by that half.
  void weaken(site which) {
    weakened_ = std::move(which);
    line_ = weakened_.line;
    met_ = false;
  }
  /// Whether anybody has come by the weakened site.
  [[nodiscard]] bool met() const noexcept { return met_; }
  void restore() noexcept { line_ = 0; }

  /// What remains of `order`.
  [[nodiscard]] std::memory_order apply(std::memory_order order, const char* access, place from) {
    if (collects_ && order != std::memory_order_relaxed) {
      note(order, access, from);
    }
    return from.line == line_ ? weaker(order, access, from) : order;
  }

  /// Whether the fence at this place is left out.
  [[nodiscard]] bool leaves_out(const char* access, place from) {
    return apply(std::memory_order_seq_cst, access, from) == std::memory_order_relaxed;
  }

 private:
  void note(std::memory_order order, const char* access, place from);
  [[nodiscard]] std::memory_order weaker(std::memory_order order, const char* access, place from);

  std::set<site> sites_;
  /// File, line and access as they are passed: what has come by already is not looked up by text.
  std::set<std::tuple<const char*, int, const char*, std::memory_order>> noted_;
  site weakened_{};
  int line_ = 0;
  bool collects_ = false;
  bool met_ = false;
};

}  // namespace model
