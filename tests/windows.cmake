# Unit tests that do not hold on Windows, each with its reason. All others pass there.

# Files that are not compiled.
set(lido_not_on_windows
  # They examine the system by means that only Linux or glibc has.
  allocator/other_copy_test.cpp # the note in an ELF file
  allocator/unused_memory_test.cpp # /proc/self/maps, mallinfo2
  base/huge_page_advice_test.cpp # madvise
  base/mappings_test.cpp # mlock, /proc/self/maps
  debug/checked_memory_test.cpp # glibc's own names of malloc
  resource/pool_threads_test.cpp # masks of signals
  resource/resource_sleeps_test.cpp # getrusage of a thread, signals
  # A call of the system is refused by seccomp; nothing refuses FlushProcessWriteBuffers.
  allocator/forbidden_fence_test.cpp
  concurrency/forbidden_fence_test.cpp
  support/forbidden_membarrier.cpp
  # Keys of POSIX threads are used up; slots of TlsAlloc are not so few.
  concurrency/keys_used_up_test.cpp
  # A child of fork dies, or serves. GoogleTest would restart the program, for seconds each.
  debug/checked_death_test.cpp
  object/object_pool_death_test.cpp
  object/waiting_death_test.cpp
  object/wrong_release_death_test.cpp
  resource/fork_cases_test.cpp
  # Fibers of ucontext.
  object/fiber_test.cpp
  # malloc is refused. Thread-local variables, which say when, are themselves allocated by malloc.
  slot_map/slot_map_allocation_test.cpp
  support/failing_new.cpp
  object/failing_allocation_test.cpp
  object/warm_pool_test.cpp)

# Single tests, as patterns of GoogleTest.
set(lido_tests_not_on_windows
  *DeathTest* # as above
  # GCC for MinGW frees the memory of thread_local objects before their destructors run.
  *DestructorOfAThreadLocalObject*
  *LeaseInAThreadLocalVariable*
  # They run the command at the end of a report, which a program under Wine cannot.
  *NamesFileAndLine*
  *NamesTheFileThat*
  # It counts the threads of /proc/self/status.
  ServerCases.C15AHugePoolHasFewThreads
  # A thread shrinks the pool all the time. An acquire beside it naps, and a nap lasts 1.2 ms or more under Wine. So the test
  # passes within a second or two on a busy machine, and takes 11 s to more than 100 s on an idle one.
  *Growing.ShrinksBesideAcquires*/revocable)
