/// @file
/// The functions that a module with a copy of Lido shows to the benchmark of pairs.
#pragma once

/// Returns nanoseconds for an acquire and its release with the module's copy of Lido, the best of a
/// few short runs.
extern "C" double lido_test_pair();

/// Returns whether a pool of the module has locked caches. They are revocable if the system has a
/// heavy fence.
extern "C" bool lido_test_caches_are_locked();
