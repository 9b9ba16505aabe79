/// @file
/// Public. The default of pools and maps that call hooks.
#pragma once

namespace lido::inline v0 {

/// Hooks that do nothing at any point.
struct no_hooks {};

}  // namespace lido::inline v0
