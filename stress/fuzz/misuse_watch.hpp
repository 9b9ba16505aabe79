/// @file
/// Deliberate misuse, which a checked pool must report, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lido/checked.hpp"

namespace fuzz {

/// Receives every misuse report during its lifetime. At most one object exists at a time.
class misuse_watch {
 public:
  misuse_watch();
  misuse_watch(const misuse_watch&) = delete;
  misuse_watch& operator=(const misuse_watch&) = delete;
  ~misuse_watch();

  /// Runs `f`, which must be reported once, as this kind.
  template <class F>
  void expect(lido::misuse_kind kind, const F& f) {
    begin(kind);
    f();
    end();
  }

 private:
  static void begin(lido::misuse_kind kind);
  static void end();
};

}  // namespace fuzz
