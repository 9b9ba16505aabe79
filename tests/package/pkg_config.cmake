# Builds and runs programs with the output of pkg-config for the Lido installed in PREFIX, and for each of COMPONENTS. OBJECT
# is the compiled program of all components. EMULATOR runs programs, if the system cannot.
cmake_minimum_required(VERSION 3.25)

file(GLOB_RECURSE found ${PREFIX}/lido.pc)
if(NOT found)
  message(FATAL_ERROR "no lido.pc below ${PREFIX}")
endif()
cmake_path(GET found PARENT_PATH folder)
set(ENV{PKG_CONFIG_PATH} ${folder})
file(MAKE_DIRECTORY ${BINARY})
separate_arguments(extra UNIX_COMMAND "${EXTRA_FLAGS}")

function(ask_pkg_config out) # arguments of pkg-config
  execute_process(
    COMMAND ${PKG_CONFIG} ${ARGN} OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS "pkg-config ${ARGN}: ${flags}")
  if(flags MATCHES "-std=")
    message(FATAL_ERROR "a file chooses the standard that its user's program is compiled by: the last of two options counts")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  set(${out} "${flags}" PARENT_SCOPE)
endfunction()

ask_pkg_config(flags --cflags --libs lido)
execute_process(
  COMMAND ${CXX} -std=c++20 ${extra} ${CMAKE_CURRENT_LIST_DIR}/lido_consumer.cpp -o ${BINARY}/lido_consumer.exe ${flags}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${EMULATOR} ${BINARY}/lido_consumer.exe COMMAND_ERROR_IS_FATAL ANY)

if(NOT OBJECT)
  return()
endif()

# ---- the components: each adds all that Lido needs, and together they find their headers and libraries

string(REPLACE "," ";" COMPONENTS "${COMPONENTS}")
list(REMOVE_ITEM COMPONENTS "")
set(text "")
foreach(component IN LISTS COMPONENTS)
  ask_pkg_config(with_component --cflags --libs lido-${component})
  foreach(flag IN LISTS flags)
    if(NOT flag IN_LIST with_component)
      message(FATAL_ERROR "lido-${component}.pc does without ${flag}")
    endif()
  endforeach()
  string(APPEND text "#include \"${CMAKE_CURRENT_LIST_DIR}/${component}_consumer.cpp\"\n")
endforeach()
list(TRANSFORM COMPONENTS PREPEND lido- OUTPUT_VARIABLE packages)
file(WRITE ${BINARY}/headers.cpp "${text}")
ask_pkg_config(flags --cflags lido ${packages})
execute_process(COMMAND ${CXX} -std=c++20 -M ${BINARY}/headers.cpp ${flags} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
ask_pkg_config(flags --libs lido ${packages})
execute_process(COMMAND ${CXX} ${extra} ${OBJECT} -o ${BINARY}/consumer ${flags} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BINARY}/consumer COMMAND_ERROR_IS_FATAL ANY)
