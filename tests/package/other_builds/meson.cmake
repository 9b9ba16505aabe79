# Builds Lido by Meson: as the subproject of a project in a folder that was empty, and installed, for pkg-config. For other
# systems it is only configured.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${BINARY})
set(ENV{CC} ${CC})
set(ENV{CXX} ${CXX})
set(quickly -Dunity=on -Dunity_size=100 -Doptimization=0 -Ddebug=false) # a fifth of the time to compile

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(compare_lists)
  run(${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/lists.py ${LISTS} ${ARGN})
endfunction()
function(require_nodelete file)
  execute_process(COMMAND ${READELF} -dW ${file} OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY)
  if(NOT dynamic MATCHES "NODELETE")
    message(FATAL_ERROR "${file} may be unloaded while threads still run code of Lido:\n${dynamic}")
  endif()
endfunction()

# ---- as a subproject, static

set(host ${BINARY}/host)
file(COPY ${CMAKE_CURRENT_LIST_DIR}/host DESTINATION ${BINARY})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/../lido_consumer.cpp ${SOURCE}/tests/c/program.c ${SOURCE}/examples/blocks_in_cpp17.cpp
     DESTINATION ${host})
file(MAKE_DIRECTORY ${host}/subprojects)
file(CREATE_LINK ${SOURCE} ${host}/subprojects/lido SYMBOLIC)
run(${MESON} setup ${host}/build ${host} ${quickly} -Ddefault_library=static -Dlido:werror=true -Dlido:warning_level=2)
run(${MESON} compile -C ${host}/build)
foreach(program IN ITEMS consumer c_consumer cpp17_consumer)
  run(${host}/build/${program})
endforeach()
require_nodelete(${host}/build/libplugin.so)

# ---- installed, shared

set(prefix ${BINARY}/prefix)
run(${MESON} setup ${BINARY}/build ${SOURCE} ${quickly} --prefix ${prefix} --libdir lib)
run(${MESON} install -C ${BINARY}/build --quiet)
compare_lists(headers ${prefix}/include)
require_nodelete(${prefix}/lib/liblido.so.${ABI})
foreach(file IN ITEMS lib/liblido.so share/lido/gdb/lido.py share/doc/lido/LICENSE)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
set(ENV{LD_LIBRARY_PATH} ${prefix}/lib)
run(${CMAKE_COMMAND} -DPREFIX=${prefix} -DBINARY=${BINARY}/pkg_config -DPKG_CONFIG=${PKG_CONFIG} -DCXX=${CXX}
    -P ${CMAKE_CURRENT_LIST_DIR}/../pkg_config.cmake)
set(ENV{PKG_CONFIG_PATH} ${prefix}/lib/pkgconfig)
run(${PKG_CONFIG} --exact-version=${VERSION} lido)

# ---- the sources of each system, as far as this one's compiler can say

function(write_cross_file system)
  file(WRITE ${BINARY}/${system}.ini "[binaries]\ncpp = '${CXX}'\nar = 'ar'\n[properties]\nneeds_exe_wrapper = true\n"
    "[host_machine]\nsystem = '${system}'\ncpu_family = 'x86_64'\ncpu = 'x86_64'\nendian = 'little'\n")
endfunction()
foreach(pair IN ITEMS linux:linux freebsd:posix windows:windows none:generic)
  string(REPLACE ":" ";" pair ${pair})
  list(POP_FRONT pair system platform)
  write_cross_file(${system})
  run(${MESON} setup ${BINARY}/${system} ${SOURCE} --cross-file ${BINARY}/${system}.ini -Ddefault_library=static)
  compare_lists(meson ${MESON} ${BINARY}/${system} ${platform})
endforeach()

# ---- what meson.build refuses

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
