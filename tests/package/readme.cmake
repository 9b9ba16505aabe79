# Runs the commands of README.md that install Lido, then builds and runs the consumer with what they have installed.
# Only the folders are others, and the generator and the compiler those of this build.
cmake_minimum_required(VERSION 3.25)

file(READ ${SOURCE}/README.md readme)
if(NOT readme MATCHES "```sh\n(cmake -S [^`]*)```")
  message(FATAL_ERROR "README.md does not say how to install")
endif()
string(REPLACE build/release ${BINARY}/build recipe "${CMAKE_MATCH_1}")
string(REPLACE /usr/local ${BINARY}/prefix recipe "${recipe}")
string(REGEX MATCHALL "[^\n]+" commands "${recipe}")
list(LENGTH commands count)
if(NOT count EQUAL 3)
  message(FATAL_ERROR "README.md is to configure, build and install, and says\n${recipe}")
endif()

file(REMOVE_RECURSE ${BINARY})
file(MAKE_DIRECTORY ${BINARY})
set(ENV{CMAKE_GENERATOR} ${GENERATOR})
set(ENV{CMAKE_BUILD_PARALLEL_LEVEL} 2)
set(ENV{CXX} ${CXX})
foreach(command IN LISTS commands)
  message(STATUS "${command}")
  separate_arguments(command UNIX_COMMAND "${command}")
  execute_process(COMMAND ${command} WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# What a compiler that nobody has tried warns of must not end a user's build; it must end that of who works on Lido.
file(READ ${BINARY}/build/compile_commands.json compiled)
if(compiled MATCHES "-Werror")
  message(FATAL_ERROR "the recipe builds with -Werror")
endif()
file(READ ${SOURCE}/CMakePresets.json presets)
string(JSON is_strict GET "${presets}" configurePresets 0 cacheVariables LIDO_WERROR)
if(NOT is_strict)
  message(FATAL_ERROR "the presets build without -Werror")
endif()

execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/installed -B ${BINARY}/consumer
          -DCMAKE_PREFIX_PATH=${BINARY}/prefix -DLIDO_EXPECTED_PREFIX=${BINARY}/prefix
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BINARY}/consumer --target consumer COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BINARY}/consumer/consumer COMMAND_ERROR_IS_FATAL ANY)
