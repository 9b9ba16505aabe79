# Follows docs/how-to/get-lido.md with the Lido installed in PREFIX: compiles the module by its commands, and the first
# program of README.md, which imports it.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${BINARY})
file(READ ${SOURCE}/docs/how-to/get-lido.md page)
if(NOT page MATCHES "```sh module\n([^`]*)```")
  message(FATAL_ERROR "the page does not say how to compile the module")
endif()
string(REPLACE /usr/local ${PREFIX} commands "${CMAKE_MATCH_1}")
file(READ ${SOURCE}/README.md readme)
if(NOT readme MATCHES "```cpp program\n#include <lido/object_pool.hpp>\n([^`]*)```")
  message(FATAL_ERROR "README.md has no program")
endif()
file(WRITE ${BINARY}/main.cpp "import lido;\n${CMAKE_MATCH_1}")

file(GLOB_RECURSE found ${PREFIX}/lido.pc)
cmake_path(GET found PARENT_PATH folder)
set(ENV{PKG_CONFIG_PATH} ${folder})
execute_process(COMMAND sh -ec "${commands}" WORKING_DIRECTORY ${BINARY} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BINARY}/app OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed STREQUAL "all in use\n")
  message(FATAL_ERROR "the program printed ${printed}")
endif()
