/// @file
/// Public. The default hooks of pools and maps.
#pragma once

namespace lido::inline v0 {

/// Hooks that do nothing at any point.
struct no_hooks {};

}  // namespace lido::inline v0
