# Builds Lido by Meson: as the subproject of a project in a folder that was empty, and installed, for pkg-config.
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
