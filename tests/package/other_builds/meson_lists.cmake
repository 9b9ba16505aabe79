# Configures Lido by Meson for several systems, as far as this one's compiler can, and compares the sources. Nothing is built.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${BINARY})
set(ENV{CXX} ${CXX})

# ---- the sources of each system

function(write_cross_file system)
  file(WRITE ${BINARY}/${system}.ini "[binaries]\ncpp = '${CXX}'\nar = 'ar'\n[properties]\nneeds_exe_wrapper = true\n"
    "[host_machine]\nsystem = '${system}'\ncpu_family = 'x86_64'\ncpu = 'x86_64'\nendian = 'little'\n")
endfunction()
foreach(pair IN ITEMS linux:linux freebsd:posix windows:windows none:generic)
  string(REPLACE ":" ";" pair ${pair})
  list(POP_FRONT pair system platform)
  write_cross_file(${system})
  execute_process(
    COMMAND ${MESON} setup ${BINARY}/${system} ${SOURCE} --cross-file ${BINARY}/${system}.ini -Ddefault_library=static
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(
    COMMAND ${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/lists.py ${LISTS} meson ${MESON} ${BINARY}/${system} ${platform}
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# ---- what meson.build rejects

function(refused reason)
  file(REMOVE_RECURSE ${BINARY}/refused)
  execute_process(COMMAND ${MESON} setup ${BINARY}/refused ${SOURCE} ${ARGN} OUTPUT_VARIABLE said ERROR_VARIABLE said
                  RESULT_VARIABLE failed)
  if(NOT failed OR NOT said MATCHES "lido: ${reason}")
    message(FATAL_ERROR "meson.build takes ${ARGN}:\n${said}")
  endif()
endfunction()
write_cross_file(emscripten)
refused("for Emscripten" --cross-file ${BINARY}/emscripten.ini -Ddefault_library=static)
refused("the static Lido" -Ddefault_library=both)
