/// @file
/// What a module that is loaded anew shows to its host.
#pragma once

#include "lido/platform/compiler.hpp"

/// Of the module's code; defined in the one source that differs between two versions.
int version_of_game();

/// Uses pools, and returns the version if they work, or else 0.
extern "C" [[LIDO_VISIBLE]] int lido_test_game();
