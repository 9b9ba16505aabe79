# Builds and runs the consumers with what pkg-config says about the Lido installed in PREFIX, that of each of COMPONENTS,
# too.
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE found ${PREFIX}/lido.pc)
if(NOT found)
  message(FATAL_ERROR "no lido.pc below ${PREFIX}")
endif()
cmake_path(GET found PARENT_PATH folder)
file(MAKE_DIRECTORY ${BINARY})
separate_arguments(extra UNIX_COMMAND "${EXTRA_FLAGS}")

function(build_and_run package consumer)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${PKG_CONFIG} --cflags --libs ${package}
    OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS "pkg-config says of ${package}: ${flags}")
  if(flags MATCHES "-std=")
    message(FATAL_ERROR "${package}.pc chooses the standard that its user's program is compiled by: the last of two options counts")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  execute_process(
    COMMAND ${CXX} -std=c++20 ${extra} ${CMAKE_CURRENT_LIST_DIR}/${consumer}.cpp -o ${BINARY}/${consumer} ${flags}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${BINARY}/${consumer} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

build_and_run(lido consumer)
string(REPLACE "," ";" COMPONENTS "${COMPONENTS}")
list(REMOVE_ITEM COMPONENTS "")
foreach(component IN LISTS COMPONENTS)
  build_and_run(lido-${component} ${component}_consumer)
endforeach()
