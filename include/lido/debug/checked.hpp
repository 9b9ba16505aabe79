/// @file
/// Public. `policy::checked`: a pool that finds its users' mistakes.
#pragma once

#include <cstddef>

#include "lido/debug/slot_checks.hpp"

namespace lido::policy {

/// Every release is checked, free slots are filled and looked after, and the end of the pool
/// reports what is still in use; see set_misuse_handler. The same in every build type.
struct checked {
  template <std::size_t Size>
  using checks = detail::slot_checks<Size>;
};

}  // namespace lido::policy
