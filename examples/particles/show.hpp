/// @file
/// One run of the fountain with one answer to a full pool.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer.hpp"
#include "demand.hpp"
#include "ledger.hpp"
#include "options.hpp"
#include "picture/image.hpp"

namespace particles {

/// Seconds by activity.
struct spent {
  double simulating = 0;  ///< walking, emitting and releasing
  double drawing = 0;
  double checking = 0;
  double writing = 0;
};

struct showing {
  answer policy{};
  tally counted;
  spent seconds;
  std::size_t most_in_use = 0;
  std::size_t least_capacity = 0;
  std::size_t most_capacity = 0;
  std::size_t last_capacity = 0;
  bool grew = false;               ///< whether the pool grew after the first frame
  std::vector<std::string> wrong;  ///< the first few complaints
  std::size_t wrong_count = 0;
  std::filesystem::path animation;
  std::optional<image> still;  ///< picture of the fullest pool
};

/// Returns whether the answer was never needed, so that the run proves nothing about it. False for
/// a pool that is large enough, which is its answer.
[[nodiscard]] bool was_never_full(const showing& one) noexcept;

/// Called with each picture as it is done.
using onlooker = std::function<void(const image& picture)>;

/// Runs the fountain once. Throws std::runtime_error if a file cannot be written, and whatever the
/// pool throws.
showing show(answer policy, const options& wanted, const demand& load, const onlooker& look);

}  // namespace particles
