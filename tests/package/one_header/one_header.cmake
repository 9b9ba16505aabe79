# Writes the one header from a copy of the sources, which is no checkout and is in a folder whose name has a space. Builds
# programs with nothing else, of one and two source files, with and without exceptions, and with the back ends PLATFORMS. CXX
# is the compiler, LAUNCHER precedes it, EMULATOR runs programs, LIBRARIES are linked.
cmake_minimum_required(VERSION 3.22)

separate_arguments(LIBRARIES)
file(REMOVE_RECURSE ${BINARY})
file(MAKE_DIRECTORY ${BINARY})
foreach(path IN ITEMS LICENSE cmake/platform.cmake include scripts/amalgamate.py src)
  cmake_path(GET path PARENT_PATH folder)
  file(COPY ${SOURCE}/${path} DESTINATION "${BINARY}/an archive/${folder}")
endforeach()
foreach(header IN ITEMS lido_all.hpp again/lido_all.hpp)
  file(MAKE_DIRECTORY ${BINARY}/again)
  execute_process(COMMAND ${PYTHON} -B "${BINARY}/an archive/scripts/amalgamate.py" ${BINARY}/${header}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(REMOVE_RECURSE "${BINARY}/an archive")
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${BINARY}/lido_all.hpp ${BINARY}/again/lido_all.hpp
                COMMAND_ERROR_IS_FATAL ANY)

function(run)
  list(JOIN ARGN " " command)
  message(STATUS "${command}")
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${BINARY} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Now Lido is in a user's file, which may have more warnings than lido_warnings. Unoptimised: a third of the time.
set(compile ${LAUNCHER} ${CXX} -std=c++20 -O0 -pthread -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    -Wold-style-cast -Werror -I${BINARY})
function(compile source object) # further arguments are options
  run(${compile} ${ARGN} -c ${source} -o ${object})
endfunction()
function(link_and_run program) # further arguments are objects
  run(${CXX} -pthread ${ARGN} -o ${program} ${LIBRARIES})
  run(${EMULATOR} ${BINARY}/${program})
endfunction()

set(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer.cpp)
file(WRITE ${BINARY}/lido.cpp "#define LIDO_IMPLEMENTATION\n#include \"lido_all.hpp\"\n")

compile(${consumer} consumer.o)
compile(lido.cpp lido.o)
link_and_run(two_files.exe consumer.o lido.o)
if(EMULATOR) # the rest differs little from system to system
  return()
endif()

compile(${consumer} alone.o -DLIDO_TEST_ALONE)
link_and_run(alone.exe alone.o)

set(plain -fno-exceptions -fno-rtti)
compile(${consumer} consumer_plain.o ${plain})
compile(lido.cpp lido_plain.o ${plain})
link_and_run(plain.exe consumer_plain.o lido_plain.o)

# Files with exceptions do not link with files without, and the linker names the reason.
execute_process(COMMAND ${CXX} -pthread consumer.o lido_plain.o -o mixed.exe WORKING_DIRECTORY ${BINARY}
                RESULT_VARIABLE failed ERROR_VARIABLE said)
if(failed EQUAL 0 OR NOT said MATCHES "lido_mixes_files_with_and_without_exceptions")
  message(FATAL_ERROR "files with and without exceptions are linked, or the linker names no reason:\n${said}")
endif()

foreach(platform IN LISTS PLATFORMS)
  compile(lido.cpp lido_${platform}.o -DLIDO_PLATFORM_${platform})
  link_and_run(${platform}.exe consumer.o lido_${platform}.o)
endforeach()
# Each back end was used: one parks threads by condition variables, the other one never maps memory.
if(PLATFORMS STREQUAL "POSIX;GENERIC")
  file(STRINGS ${BINARY}/lido_POSIX.o parks REGEX "pthread_cond_timedwait")
  file(STRINGS ${BINARY}/lido_GENERIC.o maps REGEX "^_?mmap$")
  if(NOT parks OR maps)
    message(FATAL_ERROR "LIDO_PLATFORM_POSIX or LIDO_PLATFORM_GENERIC took another back end")
  endif()
endif()
