/// @file
/// Mutants of memory orders: each ordered access of the library is a site, and one site may be
/// weakened.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "checker/code_location.hpp"

namespace model {

/// The halves of an order that can be removed.
enum class half : std::uint8_t { acquire, release, both };

/// One memory order of one access in the library. A compare-and-swap has two memory orders.
struct site {
  std::string file;  ///< path that begins with include/ or src/
  int line;
  std::string access;  ///< "load", "store", "change", "CAS", "failed CAS" or "... fence"
  half part;

  auto operator<=>(const site&) const = default;

  /// Returns, for example, "src/allocator/slot_cache.cpp:122 CAS release".
  [[nodiscard]] std::string text() const;
  /// Parses the text form. Throws std::invalid_argument.
  [[nodiscard]] static site parse(std::string_view text);
};

/// Records every site that the accesses have passed since `collect(true)`, and weakens one site.
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

  /// From now on, weakens the order at site `which` by the half that `which` names.
  void weaken(site which) {
    weakened_ = std::move(which);
    line_ = weakened_.line;
    met_ = false;
  }
  /// Returns whether any thread has passed the weakened site.
  [[nodiscard]] bool met() const noexcept { return met_; }
  void restore() noexcept { line_ = 0; }

  /// Returns `order`, or what remains of it at the weakened site.
  [[nodiscard]] std::memory_order apply(std::memory_order order, const char* access,
                                        code_location from) {
    if (collects_ && order != std::memory_order_relaxed) {
      note(order, access, from);
    }
    return from.line == line_ ? weaker(order, access, from) : order;
  }

  /// Returns whether the fence at this source location is left out.
  [[nodiscard]] bool leaves_out(const char* access, code_location from) {
    return apply(std::memory_order_seq_cst, access, from) == std::memory_order_relaxed;
  }

 private:
  void note(std::memory_order order, const char* access, code_location from);
  [[nodiscard]] std::memory_order weaker(std::memory_order order, const char* access,
                                         code_location from);

  std::set<site> sites_;
  /// File, line and access of passed sites: a site is looked up by text only the first time.
  std::set<std::tuple<const char*, int, const char*, std::memory_order>> noted_;
  site weakened_{};
  int line_ = 0;
  bool collects_ = false;
  bool met_ = false;
};

}  // namespace model
