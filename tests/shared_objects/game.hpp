/// @file
/// The functions that a reloadable module shows to its host.
#pragma once

#include "lido/platform/compiler.hpp"

/// Returns the version of the module's code; defined in the one source that differs between
/// versions.
int version_of_game();

/// Uses pools, and returns the version if they work, or else 0.
extern "C" [[LIDO_VISIBLE]] int lido_test_game();
