/// @file
/// Memory that runs out on request: memory from `operator new`, and from std::malloc where the
/// executable itself calls it. Only for executables that `lido_failing_memory` in
/// tests/CMakeLists.txt links.
#pragma once

#include <atomic>

namespace lido::test {

/// Settings for the calling thread's allocations, and their counts.
struct allocation_plan {
  long fail_at = 0;     ///< number of the first failing allocation from now; 0: none
  bool sticky = false;  ///< whether all later allocations fail, too
  long allocations = 0;
  long of_malloc = 0;  ///< number of allocations by malloc
  long refused = 0;
  /// Allocations by all threads that are not yet freed: one thread may free what another has
  /// allocated.
  static inline std::atomic<long> outstanding = 0;
};

allocation_plan& allocations() noexcept;

/// Makes memory run out during its lifetime.
class failing_allocations {
 public:
  explicit failing_allocations(long first, bool sticky) noexcept {
    allocations().sticky = sticky;
    allocations().fail_at = first;
  }
  failing_allocations(const failing_allocations&) = delete;
  failing_allocations& operator=(const failing_allocations&) = delete;
  ~failing_allocations() { stop(); }

  static void stop() noexcept { allocations().fail_at = 0; }

  /// Returns whether the failure is still to come.
  [[nodiscard]] static bool pending() noexcept { return allocations().fail_at > 0; }
};

}  // namespace lido::test
