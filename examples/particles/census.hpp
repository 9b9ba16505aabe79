/// @file
/// The roll call: compares the particles in the pool with those that should be there.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ledger.hpp"

namespace particles {

/// Answers to one roll call of all particles. Any thread may call `present`.
class census {
 public:
  /// Records a particle. `identity`: how the pool knows the particle, by its address or its handle.
  void present(std::uint64_t identity, std::uint32_t number) {
    answers_.local().push_back({identity, number});
  }

  /// Complains of each particle that is lost (alive in the books, not present), duplicated (present
  /// twice) or a ghost (present, not alive). Complains of identities that two particles share, of
  /// requested births that were neither granted nor refused, and of a pool whose count differs from
  /// the books. Clears the answers.
  void compare(ledger& books, std::size_t pool_says);

 private:
  struct answer {
    std::uint64_t identity;
    std::uint32_t number;
  };

  [[nodiscard]] std::vector<answer> collect();
  static void check_identities(std::vector<answer>& all, complaints& found);
  static void check_numbers(const std::vector<answer>& all, ledger& books);
  static void check_sums(const tally& sums, std::size_t pool_says, complaints& found);

  tbb::enumerable_thread_specific<std::vector<answer>> answers_;
};

}  // namespace particles
