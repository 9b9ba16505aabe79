# Every build option of Lido. A project that embeds Lido gets the library and nothing else.
option(LIDO_BUILD_TESTS "Build the unit tests, stress drivers and house checks" ${PROJECT_IS_TOP_LEVEL})
option(LIDO_BUILD_STRESS "With the tests, build the stress drivers and fuzz targets" ON)
set(LIDO_UNIT_LAYERS all CACHE STRING "Of the unit tests, the layers to build: all, none, or a list such as 'freelist;magazine'")
set(LIDO_GTEST_SOURCE "" CACHE PATH "Build GoogleTest from these sources instead of looking for it, e.g. for another processor")
# Most of the time to compile a unit test goes into headers, which several in one translation unit parse once. Who
# edits one test waits for fewer without it.
option(LIDO_UNITY "Compile several unit tests as one translation unit" ON)
option(LIDO_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(LIDO_BUILD_BENCH "Build the benchmarks" OFF)
option(LIDO_INSTALL "Generate install rules and the CMake package" ${PROJECT_IS_TOP_LEVEL})
# Off for who only builds it: another compiler, or another level of optimisation, warns of other things. The presets
# have it on.
option(LIDO_WERROR "Treat warnings in Lido's own targets as errors" OFF)

set(LIDO_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. 'thread' or 'address,undefined'")
if(LIDO_SANITIZE)
  add_compile_options(-fsanitize=${LIDO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LIDO_SANITIZE})
endif()

# Counts of branches, as the source has them: nothing optimised, and functions that are inlined by force in other
# builds compiled once, instead of anew at each of a hundred callers. scripts/coverage.sh reads the counts.
option(LIDO_COVERAGE "Count branches for scripts/coverage.sh; GCC only" OFF)
if(LIDO_COVERAGE)
  add_compile_options(--coverage -O0 -fno-inline -fprofile-update=atomic -Dalways_inline=noinline)
  add_link_options(--coverage)
endif()

if(PROJECT_IS_TOP_LEVEL)
  find_program(LIDO_CCACHE ccache)
  if(LIDO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # What one checkout compiled serves the next one, wherever that lies. Counts of branches name their files in full.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${LIDO_CCACHE})
    if(NOT LIDO_COVERAGE)
      list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1)
    endif()
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()
