// Two calls in one function, between which a fiber may move to another thread. arm64.py looks for
// two reads of the thread pointer.
#include "lido/block_resource.hpp"
#include "lido/checked.hpp"
#include "lido/object_pool.hpp"

using pool = lido::object_pool<long>;
using checked_pool = lido::object_pool<long, lido::checked_traits<long>>;

extern "C" void switch_threads();

extern "C" void probe_releases(pool& to, long* one, long* other) {
  to.release(one);
  switch_threads();
  to.release(other);
}

extern "C" long* probe_acquires(pool& from) {
  long* const one = from.try_acquire_ptr();
  switch_threads();
  return one != nullptr ? from.try_acquire_ptr() : nullptr;
}

extern "C" void probe_checked_releases(checked_pool& to, long* one, long* other) {
  to.release(one);
  switch_threads();
  to.release(other);
}

extern "C" void probe_deallocations(lido::block_allocator<long>& to, long* one, long* other) {
  to.deallocate(one, 1);
  switch_threads();
  to.deallocate(other, 1);
}

// A compiler reads the thread pointer only once by itself, which arm64.py must reject.
extern "C" std::size_t rejected_reads() {
  const std::size_t before = lido::detail::thread_offset;
  switch_threads();
  return before + lido::detail::thread_offset;
}
