/// @file
/// What a module that is loaded anew shows to its host.
#pragma once

/// Of the module's code; defined in the one source that differs between two versions.
int version_of_game();

/// Uses pools, and returns the version if they work, or else 0.
extern "C" [[gnu::visibility("default")]] int lido_test_game();
using game_entry = int (*)();
