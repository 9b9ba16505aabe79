# Deliberately broken rules, and the drivers that must notice them. Included by CMakeLists.txt.

# ---- negative controls: each breaks one rule, and must be caught -----------------------------------

# Rules whose fault may show as a run without end, which gives no verdict on other rules. A list without its tag, or with
# links in memory that was given back, may become a cycle. The slot of a value that two threads have destroyed may stay
# locked. Two owners of a cache may destroy anything, and a child may look for a segment that does not exist.
set(endless_mutants no_tag early_retirement erase_beside_visit survivor_forgotten)

function(lido_mutant_test name rule program) # further arguments go to the driver
  set(grace 40)
  if(rule IN_LIST endless_mutants)
    set(grace 20)
  endif()
  add_test(NAME mutant.${name} COMMAND ${program} --seconds ${LIDO_MUTANT_SECONDS} --grace ${grace} ${ARGN})
  set_tests_properties(mutant.${name} PROPERTIES LABELS mutant PROCESSORS 3 PASS_REGULAR_EXPRESSION "BROKEN:"
                                                 ENVIRONMENT LIDO_BROKEN_RULE=${rule})
  if(NOT rule IN_LIST endless_mutants)
    set_tests_properties(mutant.${name} PROPERTIES FAIL_REGULAR_EXPRESSION "BROKEN: no end")
  endif()
endfunction()

# Named after the rule and, unless it is the first driver that notices the rule, after the driver.
function(lido_mutant rule suffix driver) # further arguments go to the driver
  string(REPLACE "/" "." name ${driver})
  lido_breakable_driver(breakable_${name} ${driver} fuzz_schedule)
  lido_mutant_test(${rule}${suffix} ${rule} breakable_${name} ${ARGN})
endfunction()

if(NOT LIDO_SANITIZE AND NOT LIDO_COVERAGE)
  lido_mutant(no_tag "" freelist/no_slot_has_two_owners)
  lido_mutant(no_heavy_fence "" allocator/no_slot_is_lost ${nearly_exhausted})
  lido_mutant(item_after_top "" allocator/no_slot_is_lost ${nearly_exhausted})
  lido_mutant(no_arbitration "" allocator/no_slot_is_lost)
  lido_mutant(forget_flush "" allocator/thread_exit_returns_every_slot)
  lido_mutant(lose_census "" object/growth_under_load --seconds 10)
  lido_mutant(early_retirement "" object/growth_under_load --seconds 10)
  lido_mutant(ask_ignored "" object/blocked_acquire_wakes --patience 3)
  lido_mutant(skip_busy "" allocator/capacity_is_exact)
  lido_mutant(hide_cache "" allocator/capacity_is_exact)
  lido_mutant(stay_registered "" object/teardown_in_either_order)
  lido_mutant(keep_refused "" object/kept_object_lives_once)
  lido_mutant(no_tag .history object/history_is_linearizable --pool none --slots 6)
  # Drivers that notice an unnecessary refusal.
  lido_mutant(hide_cache .history object/history_is_linearizable)
  lido_mutant(skip_busy .history object/history_is_linearizable)
  lido_mutant(ignore_resize .history.grow object/history_is_linearizable --pool grow)
  lido_mutant(publish_early "" slot_map/stale_handle_never_resolves)
  lido_mutant(erase_beside_visit "" slot_map/stale_handle_never_resolves --seconds 5)
  lido_mutant(enter_anyway "" slot_map/stale_handle_never_resolves)
  lido_mutant(same_state_generation "" slot_map/history_is_linearizable)
  lido_mutant(leave_doomed "" slot_map/history_is_linearizable)
  lido_mutant(wait_for_erased "" slot_map/stale_handle_never_resolves ${few_values})
  lido_mutant(forget_erased "" slot_map/stale_handle_never_resolves --seconds 3)
  # The rules of the single-threaded map, which its unit tests must notice, too.
  foreach(rule IN ITEMS skip_between_windows forget_hole unlinked_move)
    lido_mutant(${rule} "" slot_map/compaction_beside_iteration --kind 0)
  endforeach()
  add_executable(breakable_slot_map_model ${PROJECT_SOURCE_DIR}/tests/slot_map/slot_map_model_test.cpp)
  target_link_libraries(breakable_slot_map_model PRIVATE lido_breakable GTest::gtest_main)
  target_include_directories(breakable_slot_map_model PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_sources(breakable_slot_map_model PRIVATE $<TARGET_OBJECTS:lido_fuzz_schedule>)
  lido_warnings(breakable_slot_map_model)
  foreach(rule IN ITEMS same_slot_generation reuse_used_up forget_hole unlinked_move skip_between_windows unlinked_swap
                        revive_any restore_no_list)
    # A crash shows a broken rule, too: without its list of free slots, the map searches beyond the table.
    add_test(NAME mutant.slot_map.${rule} COMMAND sh -c "$<TARGET_FILE:breakable_slot_map_model> --gtest_brief=1 || echo FAILED")
    set_tests_properties(mutant.slot_map.${rule} PROPERTIES LABELS mutant PASS_REGULAR_EXPRESSION "FAILED"
                                                            ENVIRONMENT LIDO_BROKEN_RULE=${rule})
  endforeach()
  # A lost wake-up shows at the end of the run, when no other thread wakes the waiter.
  lido_mutant(use_unmarked "" resource/no_waiter_is_forgotten --patience 3 --seconds 2)
  lido_mutant(swallow_resource "" resource/no_waiter_is_forgotten --patience 3)
  lido_mutant(called_unlooked "" resource/no_waiter_is_forgotten --patience 3 --seconds 2)
  if(TARGET lido::standalone_asio)
    # Coroutines and handlers find the same faults as threads.
    lido_breakable_driver(breakable_resource.each_wait_ends_once resource/each_wait_ends_once fuzz_schedule)
    target_compile_definitions(breakable_resource.each_wait_ends_once PRIVATE LIDO_STANDALONE_ASIO)
    target_include_directories(breakable_resource.each_wait_ends_once PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    foreach(rule IN ITEMS use_unmarked swallow_resource)
      lido_mutant_test(${rule}.each_wait_ends_once ${rule} breakable_resource.each_wait_ends_once --patience 3)
    endforeach()
  endif()
  if(TARGET lido_test_servers)
    lido_chaos_driver(breakable_resource.chaos lido_breakable)
    lido_mutant_test(swallow_resource.chaos swallow_resource breakable_resource.chaos --seconds 10 --bound 2000)
    set_tests_properties(mutant.swallow_resource.chaos PROPERTIES PROCESSORS 1) # it waits most of the time
  endif()
  lido_mutant(hoarding_key "" resource/keys_share_one_limit --threads 6 --patience 3 --seconds 2)
  lido_mutant(unmarked_eviction "" resource/keys_share_one_limit --threads 6 --patience 3 --total 1 --each 1 --keys 3
              --faults 0 --ticks 0)
  lido_mutant(hoarding_key .no_waiter_beside_room resource/no_waiter_beside_room --patience 1)
  # The model has no such rule, since it has no processes. Fuzzed, because on some machines all threads share one processor.
  foreach(rule IN ITEMS survivor_forgotten trust_busy)
    lido_mutant(${rule} "" fault/forked_child_has_what_was_free --pool revocable)
  endforeach()
  # Without caches, each trip to the depot is visible: threads with caches seldom carry slots at the moment of a fork.
  lido_mutant(carry_for_ever "" fault/forked_child_has_what_was_free --pool none)
  lido_mutant(keep_waiters "" fault/forked_child_has_what_was_free --pool block)
  # This driver has its own windows. A child that looks for slots without end is killed by an alarm.
  lido_mutant_test(lose_missing lose_missing fault_stalled_thread_holds_nobody_up --pool revocable)

  # The control of the controls: such a build must pass if it breaks nothing.
  foreach(driver IN ITEMS allocator.no_slot_is_lost resource.no_waiter_is_forgotten slot_map.history_is_linearizable)
    add_test(NAME mutant.none.${driver} COMMAND breakable_${driver} --seconds 1)
    set_tests_properties(mutant.none.${driver} PROPERTIES LABELS mutant PROCESSORS 3 PASS_REGULAR_EXPRESSION "held"
                                                          ENVIRONMENT LIDO_BROKEN_RULE=none)
  endforeach()
endif()

# ---- slips -----------------------------------------------------------------------------------------

# Typical mistakes of programmers, each compiled into a copy of the tree: only six of them, to save time.
if(NOT LIDO_SANITIZE AND NOT LIDO_COVERAGE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME mutant.slips COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/scripts/slips.py --few)
  set_tests_properties(mutant.slips PROPERTIES LABELS mutant PROCESSORS 2 TIMEOUT 900)
endif()

# ---- faults that plain stress would miss -------------------------------------------------------------

# Only for scripts/stress_mutants.py, which tries every rule.
add_custom_target(lido_breakable_drivers)
set(breakable_drivers
    ${pool_drivers}
    freelist/no_slot_has_two_owners
    object/growth_under_load
    object/history_is_linearizable
    object/kept_object_lives_once
    resource/keys_share_one_limit
    resource/no_waiter_beside_room
    resource/no_waiter_is_forgotten
    slot_map/compaction_beside_iteration
    slot_map/history_is_linearizable
    slot_map/stale_handle_never_resolves)
foreach(source IN LISTS breakable_drivers)
  string(REPLACE "/" "." driver ${source})
  if(NOT TARGET breakable_${driver})
    lido_breakable_driver(breakable_${driver} ${source} fuzz_schedule)
    set_target_properties(breakable_${driver} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  add_dependencies(lido_breakable_drivers breakable_${driver})
endforeach()
