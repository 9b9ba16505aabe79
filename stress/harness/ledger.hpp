/// @file
/// The oracle: the owner of each slot, recorded in plain variables.
#pragma once

#include "harness/run.hpp"

namespace stress {

/// An object that records its owner. The member is plain, and only owners write it. If two threads
/// own the object at once, or one sees it without the edge that a hand-over must make, that is a
/// data race. ThreadSanitizer reports it even if the values happen to match.
struct owned {
  unsigned owner;
  unsigned uses;
};

/// Reports that the object which `me` has acquired, or is about to release, names another owner.
[[noreturn]] void report_second_owner(const run& run, unsigned me, unsigned other);

/// Records that the calling thread has acquired `object`. Requires: `me` is not 0.
inline void take(const run& run, owned& object, unsigned me) {
  if (object.owner != 0) {
    report_second_owner(run, me, object.owner);
  }
  object.owner = me;
  ++object.uses;
  asm volatile("" : : "r"(&object) : "memory");  // the writes must survive optimisation
}

/// Records that the calling thread is about to release `object`.
inline void leave(const run& run, owned& object, unsigned me) {
  asm volatile("" : : "r"(&object) : "memory");
  if (object.owner != me) {
    report_second_owner(run, me, object.owner);
  }
  object.owner = 0;
  asm volatile("" : : "r"(&object) : "memory");
}

}  // namespace stress
