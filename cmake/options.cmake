# Every build option of Lido. A project that embeds Lido gets the library and nothing else.
option(LIDO_BUILD_TESTS "Build the unit tests, stress drivers and house checks" ${PROJECT_IS_TOP_LEVEL})
option(LIDO_BUILD_STRESS "With the tests, build the stress drivers and fuzz targets" ON)
set(LIDO_UNIT_LAYERS all CACHE STRING "Of the unit tests, the layers to build: all, none, or a list such as 'freelist;allocator'")
set(LIDO_GTEST_SOURCE "" CACHE PATH "Build GoogleTest from these sources instead of looking for it, e.g. for another processor")
# Most of the time to compile a unit test goes into headers, which several tests in one translation unit parse once.
# Without it, an edit of one test compiles fewer of them.
set(unity ON)
if(MSVC) # which lets a unit have one init_seg, as sources of the library have
  set(unity OFF)
endif()
option(LIDO_UNITY "Compile several unit tests as one translation unit" ${unity})
# For scripts/slips.py, which compiles one source after another, and runs each of them once.
option(LIDO_QUICK_LIBRARY "Compile the library unoptimised, each source by itself" OFF)
option(LIDO_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(LIDO_BUILD_BENCH "Build the benchmarks" OFF)
# To optimise what tests only run takes longer than to run it.
option(LIDO_SMOKE_ONLY "Compile demos and benches unoptimised, for tests that measure nothing" OFF)
option(LIDO_INSTALL "Generate install rules and the CMake package" ${PROJECT_IS_TOP_LEVEL})
# Off for projects that only build Lido: another compiler, or another level of optimisation, warns of other things. The
# presets turn it on.
option(LIDO_WERROR "Treat warnings in Lido's own targets as errors" OFF)

if(CMAKE_SYSTEM_NAME STREQUAL Linux)
  set(platform linux)
elseif(WIN32)
  set(platform windows)
elseif(UNIX OR EMSCRIPTEN)
  set(platform posix)
else()
  set(platform generic)
endif()
set(LIDO_PLATFORM ${platform} CACHE STRING
    "Of src/platform, the folder to build: linux, windows, posix, or generic for any system")

# Only the library: its user sets these flags for the program. With exceptions it serves programs of both kinds.
option(LIDO_NO_EXCEPTIONS "Compile the library with -fno-exceptions -fno-rtti" OFF)

# Each static copy of Lido takes 16 or 24 bytes of a small block that glibc has for modules that are loaded late.
option(LIDO_DYNAMIC_TLS "For more than 70 modules with a copy of Lido each: thread-local variables are found by a call" OFF)

# CMake needs a generator and a compiler that know modules, such as Ninja 1.11 with Clang 16 or GCC 14.
option(LIDO_MODULE "Build the C++20 module, too: the target lido::module. Needs CMake 3.28" OFF)

set(LIDO_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. 'thread' or 'address,undefined'")
if(LIDO_SANITIZE)
  add_compile_options(-fsanitize=${LIDO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LIDO_SANITIZE})
endif()

# Counts branches as the source has them. Nothing is optimised. Functions that are inlined by force in other builds are
# compiled once, instead of anew at each of a hundred callers. scripts/coverage.sh reads the counts.
option(LIDO_COVERAGE "Count branches for scripts/coverage.sh; GCC only" OFF)
if(LIDO_COVERAGE)
  add_compile_options(--coverage -O0 -fno-inline -fprofile-update=atomic -Dalways_inline=noinline)
  add_link_options(--coverage)
endif()

if(PROJECT_IS_TOP_LEVEL)
  find_program(LIDO_LLD ld.lld) # links in a third of the time
  if(LIDO_LLD AND LIDO_BUILD_TESTS AND (NOT CMAKE_CROSSCOMPILING OR MINGW))
    add_link_options(-fuse-ld=lld)
  endif()
  find_program(LIDO_CCACHE ccache)
  if(LIDO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # What one checkout compiled serves the next one, wherever that lies; counts of branches name their files in full.
    # Without CCACHE_DEPEND, since units of several tests name their files in full, and the preprocessor resolves that.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${LIDO_CCACHE})
    if(NOT LIDO_COVERAGE)
      list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1)
    endif()
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()
