# The library with other back ends, and test programs from above: no test is compiled again. Not with sanitizers, whose calloc
# touches all memory: the largest pools need more than the machine has.
function(lido_other_library platform)
  get_target_property(sources lido SOURCES)
  list(FILTER sources EXCLUDE REGEX ^platform/)
  lido_platform_sources(back_end ${platform})
  list(TRANSFORM back_end APPEND .cpp)
  list(APPEND sources ${back_end})
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
  add_library(lido_${platform} STATIC EXCLUDE_FROM_ALL ${sources})
  target_include_directories(lido_${platform} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  target_compile_features(lido_${platform} PUBLIC cxx_std_20)
  target_link_libraries(lido_${platform} PUBLIC Threads::Threads)
  set_target_properties(lido_${platform} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  lido_warnings(lido_${platform})
endfunction()
lido_other_library(generic)
lido_other_library(posix)
# Features that Linux has and POSIX lacks.
target_compile_options(
  lido_posix PRIVATE "SHELL:-include ${CMAKE_CURRENT_SOURCE_DIR}/support/posix_alone.hpp")

# lido_other_tests(<platform> <name> <layers> <left out>...): the unit tests of these layers, linked with that library.
function(lido_other_tests platform name layers) # further arguments are patterns of GoogleTest
  set(target lido_${platform}_${name}_tests)
  add_executable(${target})
  foreach(layer IN LISTS layers)
    foreach(objects IN ITEMS lido_${layer}_tests lido_${layer}_tests_optimised)
      if(TARGET ${objects})
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
      endif()
    endforeach()
  endforeach()
  target_link_libraries(${target} PRIVATE lido_${platform} GTest::gmock GTest::gtest_main)
  if(failing_allocation IN_LIST layers)
    lido_failing_memory(${target})
  endif()
  list(JOIN ARGN : left_out)
  if(left_out)
    set(left_out --gtest_filter=-${left_out})
  endif()
  add_test(NAME ${platform}.${name} COMMAND ${target} ${left_out} ${lido_cases}/${platform}.${name}.xml)
  set_tests_properties(${platform}.${name} PROPERTIES LABELS unit TIMEOUT 900)
endfunction()
if(LIDO_UNIT_LAYERS STREQUAL "all" AND NOT LIDO_SANITIZE AND NOT CMAKE_CROSSCOMPILING AND NOT WIN32)
  # Without the tests of forks, and of returned memory.
  # Its zeros come from calloc, which reuses what the heap has freed before.
  lido_other_tests(
    generic pools "concurrency;growing;object;pmr" *Fork* *DeathTest* ObjectMemoryBeside.ALargePool*
    ObjectMemoryBeside.AnUnusedPool*)
  foreach(layer IN ITEMS base concurrency freelist allocator growing object object_checked object_death slot_map pmr
                         resource keyed debug debug_death testing failing_allocation fibers)
    if(TARGET lido_${layer}_tests)
      lido_other_tests(posix ${layer} ${layer} ${lido_tests_not_on_posix})
    endif()
  endforeach()
endif()
