# Instructions that the compiler generates for the same sources on arm64. For every processor (armv8-a) atomics are calls of
# the compiler's library; newer ones have their own atomics (armv8.1-a).
find_package(Python3 REQUIRED COMPONENTS Interpreter)

get_target_property(library_sources lido SOURCES)
list(TRANSFORM library_sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
set(full_fence ${PROJECT_SOURCE_DIR}/src/concurrency/full_fence.cpp)
list(REMOVE_ITEM library_sources ${full_fence})

function(lido_arm64_object target processor)
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE -O2 -DNDEBUG -march=${processor})
  lido_warnings(${target})
endfunction()

function(lido_arm64_test name) # further arguments go to arm64.py
  add_test(NAME disassembly.arm64.${name} COMMAND
    ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/arm64.py --objdump ${CMAKE_OBJDUMP} ${ARGN})
  set_tests_properties(disassembly.arm64.${name} PROPERTIES LABELS report)
endfunction()

function(lido_arm64_barrier_test name) # further arguments go to barrier.py
  add_test(NAME disassembly.arm64.${name} COMMAND
    ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/barrier.py --arm64 --objdump ${CMAKE_OBJDUMP} ${ARGN})
  set_tests_properties(disassembly.arm64.${name} PROPERTIES LABELS report)
endfunction()

foreach(processor IN ITEMS armv8-a armv8.1-a)
  lido_arm64_object(lido_probe_${processor} ${processor} probe.cpp)
  lido_arm64_object(lido_stack_probe_${processor} ${processor} stack_probe.cpp)
  lido_arm64_object(lido_rejected_${processor} ${processor} rejected.cpp)
  lido_arm64_object(lido_rejected_arm64_${processor} ${processor} rejected_arm64.cpp)
  lido_arm64_object(lido_full_fence_${processor} ${processor} ${full_fence})
  lido_arm64_object(lido_library_${processor} ${processor} ${library_sources})
  set_target_properties(lido_library_${processor} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  set(library $<TARGET_OBJECTS:lido_library_${processor}>)

  set(pop --need "ldap?r" --need "casal?|__aarch64_cas8_acq(_rel)?")
  set(push --need "casa?l|__aarch64_cas8_(acq_)?rel")
  set(rejected $<TARGET_OBJECTS:lido_rejected_arm64_${processor}> --expect-rejected)

  lido_arm64_test(${processor}.hit_path $<TARGET_OBJECTS:lido_probe_${processor}> --hit --bound-after-top probe_acquire probe_release)
  lido_arm64_test(${processor}.pop $<TARGET_OBJECTS:lido_stack_probe_${processor}> ${pop} probe_pop)
  lido_arm64_test(${processor}.push $<TARGET_OBJECTS:lido_stack_probe_${processor}> ${push} probe_push)
  lido_arm64_test(
    ${processor}.rejects_hit_paths ${rejected} --hit rejected_relaxed_top rejected_barrier rejected_read_modify_write)
  lido_arm64_test(${processor}.rejects_pop ${rejected} ${pop} rejected_relaxed_pop)
  # While an owner has taken its cache, its accesses must not begin before a thief's reads are complete. The model checker has
  # no execution that shows this (load buffering), so the instruction is checked.
  set(hold --need "casal|__aarch64_cas8_acq_rel")
  lido_arm64_test(${processor}.hold_locked ${library} ${hold}
    _ZN4lido2v06detail10slot_cache10pop_lockedEv _ZN4lido2v06detail10slot_cache11push_lockedEPvj)
  lido_arm64_test(${processor}.rejects_hold ${rejected} ${hold} rejected_relaxed_pop rejected_acquire_pop)
  lido_arm64_test(${processor}.rejects_push ${rejected} ${push} rejected_relaxed_push rejected_fenced_push)
  # A fiber may move to another thread between two calls. In a shared object the variables are accessed in another way.
  lido_arm64_object(lido_fiber_probe_${processor} ${processor} fiber_probe.cpp)
  lido_arm64_object(lido_fiber_probe_shared_${processor} ${processor} fiber_probe.cpp)
  target_compile_options(lido_fiber_probe_shared_${processor} PRIVATE -fPIC)
  foreach(object IN ITEMS fiber_probe fiber_probe_shared)
    set(probe $<TARGET_OBJECTS:lido_${object}_${processor}>)
    lido_arm64_test(
      ${processor}.${object} ${probe} --thread-reads 2
      probe_releases probe_acquires probe_checked_releases probe_deallocations)
    lido_arm64_test(
      ${processor}.rejects_${object} ${probe} --thread-reads 2 --expect-rejected rejected_reads)
  endforeach()
  # Not rejected_exchange: a sequentially consistent store is a plain stlr here.
  lido_arm64_test(
    ${processor}.rejects_common $<TARGET_OBJECTS:lido_rejected_${processor}> --expect-rejected --hit
    rejected_mutex rejected_fetch_sub rejected_compare_exchange rejected_fence rejected_call)
  lido_arm64_test(
    ${processor}.rejects_bounds $<TARGET_OBJECTS:lido_rejected_${processor}> --expect-rejected --hit --bound-after-top
    rejected_early_bound rejected_without_bound)

  # The only barrier of the library is in full_fence, which slow paths of waiting pools call. The kernel runs the heavy fence,
  # and the light one only affects the compiler.
  lido_arm64_test(${processor}.no_barrier ${library})
  lido_arm64_object(lido_barrier_rejected_${processor} ${processor} rejected_barriers.cpp)
  lido_arm64_barrier_test(
    ${processor}.full_fence $<TARGET_OBJECTS:lido_full_fence_${processor}> _ZN4lido2v06detail10full_fenceEv)
  lido_arm64_barrier_test(
    ${processor}.rejects_no_barrier $<TARGET_OBJECTS:lido_barrier_rejected_${processor}> --expect-rejected
    rejected_light_fence rejected_acquire_fence rejected_fence_at_times rejected_plain_accesses)
  lido_arm64_test(${processor}.hold ${library} ${hold}
    _ZN4lido2v06detail10slot_cache9take_holdEv)
  lido_arm64_test(${processor}.heavy_fence ${library} --need "syscall"
    _ZN4lido2v06detail8platform11heavy_fenceEv)
endforeach()
