# Builds a program that imports Lido by CMAKE, which supports modules: with Lido from its sources, and with an installed one.
# CXX is the compiler. The library is built as one unit, without the parts that need other libraries.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${BINARY})
set(project ${CMAKE_CURRENT_LIST_DIR}/project)
set(embedded -DLIDO_SOURCE=${SOURCE} -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0)
foreach(part IN ITEMS TBB BOOST_LOCKFREE BOOST_ASIO STANDALONE_ASIO HIREDIS LIBPQ FMT PROMETHEUS)
  list(APPEND embedded -DLIDO_WITH_${part}=OFF)
endforeach()
set(installed -DCMAKE_PREFIX_PATH=${BINARY}/prefix)

foreach(way IN ITEMS embedded installed)
  set(folder ${BINARY}/${way})
  execute_process(
    COMMAND ${CMAKE} -S ${project} -B ${folder} -G Ninja -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug ${${way}}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE} --build ${folder} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${folder}/program COMMAND_ERROR_IS_FATAL ANY)
  if(way STREQUAL "embedded")
    execute_process(COMMAND ${CMAKE} --install ${folder} --prefix ${BINARY}/prefix OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
