# The mutated copy of the library: rules that tests can break, and schedule points. Included by CMakeLists.txt.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(overlay ${CMAKE_CURRENT_BINARY_DIR}/overlay)
set(write_overlay ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/mutants/overlay.py ${overlay})
file(GLOB rule_files CONFIGURE_DEPENDS mutants/*.toml)
file(GLOB_RECURSE copied_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
     ${PROJECT_SOURCE_DIR}/include/*.hpp ${PROJECT_SOURCE_DIR}/include/*.h ${PROJECT_SOURCE_DIR}/src/*.hpp
     ${PROJECT_SOURCE_DIR}/src/*.cpp)
list(TRANSFORM copied_files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE shipped_files)
list(TRANSFORM copied_files PREPEND ${overlay}/)

# Done now, so that a rule that no longer fits is an error of the configuration; and before a build, if something changed.
execute_process(COMMAND ${write_overlay} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "stress/mutants/*.toml does not fit the sources")
endif()
add_custom_command(
  OUTPUT ${copied_files} ${overlay}/mutations.hpp ${overlay}/rule_table.hpp
  COMMAND ${write_overlay}
  DEPENDS ${shipped_files} ${rule_files} mutants/overlay.py ${PROJECT_SOURCE_DIR}/scripts/check_common.py
  COMMENT "Inserting the switches of stress/mutants/")
add_custom_target(lido_overlay DEPENDS ${copied_files} ${overlay}/mutations.hpp ${overlay}/rule_table.hpp)

get_target_property(overlay_sources lido SOURCES)
list(TRANSFORM overlay_sources PREPEND ${overlay}/src/)

# For everything that compiles the copy, or uses it.
function(lido_use_overlay target scope)
  target_include_directories(${target} ${scope} ${overlay}/include ${overlay} ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  target_compile_features(${target} ${scope} cxx_std_20)
  # No assertions: they read atomics, which are points of the schedule, and would hide how a broken rule shows.
  target_compile_definitions(${target} ${scope} LIDO_ASSERTIONS=0)
  target_compile_options(${target} ${scope} "SHELL:-include ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/mutants/broken.hpp")
endfunction()

# The rule to break is read before main.
add_library(lido_break_rule OBJECT EXCLUDE_FROM_ALL harness/break_rule.cpp)
lido_use_overlay(lido_break_rule PUBLIC)
add_dependencies(lido_break_rule lido_overlay)
lido_warnings(lido_break_rule)

# The same with a schedule point before each access.
function(lido_use_points target scope)
  lido_use_overlay(${target} ${scope})
  target_compile_definitions(${target} ${scope} LIDO_BREAKABLE LIDO_ATOMIC_SEAM="harness/points.hpp")
endfunction()

# The copy in a few pieces. The program that links it defines what happens at a schedule point.
function(lido_breakable_library name)
  # A program may replace it.
  set_source_files_properties(${overlay}/src/concurrency/backoff.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${overlay_sources})
  lido_use_points(${name} PUBLIC)
  target_link_libraries(${name} PUBLIC Threads::Threads)
  target_sources(${name} INTERFACE $<TARGET_OBJECTS:lido_break_rule>)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 11)
  add_dependencies(${name} lido_overlay)
  lido_warnings(${name})
endfunction()
lido_breakable_library(lido_breakable)
foreach(points IN ITEMS fuzz_schedule stall)
  add_library(lido_${points} OBJECT EXCLUDE_FROM_ALL harness/${points}.cpp)
  lido_use_points(lido_${points} PRIVATE)
  add_dependencies(lido_${points} lido_overlay)
  lido_warnings(lido_${points})
endforeach()

# A driver on such a library, built once however many of its rules are tried. With no rule broken it tests the library as
# intended.
function(lido_breakable_driver target source points)
  if(TARGET ${target})
    return()
  endif()
  lido_driver(${target} ${source} lido_breakable)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:lido_${points}>)
endfunction()
