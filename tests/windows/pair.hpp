/// @file
/// What a module with some Lido shows to the bench of pairs.
#pragma once

/// Nanoseconds for an acquire and its release, with the copy of Lido that the module has. The best
/// of a few short runs.
extern "C" double lido_test_pair();

/// Says if a pool of the module has locked caches. They are revocable where the system has a heavy
/// fence.
extern "C" bool lido_test_caches_are_locked();
