# Builds the module by plain commands, as a user without a build system for modules does, and a program of a file that
# imports it and one that includes Lido. CXX is the compiler, LIBRARY the compiled library.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${BINARY})
file(MAKE_DIRECTORY ${BINARY})
function(run)
  list(JOIN ARGN " " command)
  message(STATUS "${command}")
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${BINARY} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(compile ${CXX} -std=c++20 -O0 -pthread -Wall -Wextra -Wconversion -Wshadow -Werror -I${SOURCE}/include)
run(${compile} --precompile ${SOURCE}/src/lido.cppm -o lido.pcm)
run(${CXX} -c lido.pcm -o lido_module.o)
foreach(file IN ITEMS importer includer)
  run(${compile} -fmodule-file=lido=lido.pcm -c ${CMAKE_CURRENT_LIST_DIR}/${file}.cpp -o ${file}.o)
endforeach()
run(${CXX} -pthread importer.o includer.o lido_module.o ${LIBRARY} -o program -Wl,-z,nodelete)
run(${BINARY}/program)
