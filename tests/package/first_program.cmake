# Tries the content of a package by the first program of README.md. CXX is the compiler.
set(lido_tree ${CMAKE_CURRENT_LIST_DIR}/../..)
# In one piece, not optimised, and without parts that need other libraries, the library takes a tenth of the time.
set(LIDO_IN_ONE_PIECE -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0)
set(LIDO_QUICKLY ${LIDO_IN_ONE_PIECE} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DLIDO_WITH_HIREDIS=OFF
                 -DLIDO_WITH_LIBPQ=OFF -DLIDO_WITH_PROMETHEUS=OFF)

function(run) # command
  list(JOIN ARGN " " command)
  message(STATUS "${command}")
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(expect what) # condition
  if(NOT (${ARGN}))
    message(FATAL_ERROR "${what}")
  endif()
endfunction()

# Expects that a command fails, and that its output contains all of the words.
function(expect_refusal command) # words
  execute_process(COMMAND ${command} RESULT_VARIABLE result ERROR_VARIABLE said OUTPUT_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(result EQUAL 0)
    message(FATAL_ERROR "${command} is not refused")
  endif()
  foreach(word IN LISTS ARGN)
    string(FIND "${said}" "${word}" place)
    if(place EQUAL -1)
      message(FATAL_ERROR "${command} does not say ${word}, but ${said}")
    endif()
  endforeach()
endfunction()

# Builds and runs the program of README.md with the project of get-lido.md, which finds Lido below PREFIX.
function(try_first_program folder PREFIX) # arguments of cmake
  foreach(pair IN ITEMS "docs/how-to/get-lido.md:cmake project:CMakeLists.txt" "README.md:cpp program:main.cpp")
    string(REPLACE ":" ";" pair ${pair})
    list(POP_FRONT pair document kind file)
    file(READ ${lido_tree}/${document} text)
    if(NOT text MATCHES "```${kind}\n([^`]*)```")
      message(FATAL_ERROR "${document} has no block ${kind}")
    endif()
    file(WRITE ${folder}/${file} "${CMAKE_MATCH_1}")
  endforeach()
  run(${CMAKE_COMMAND} -S ${folder} -B ${folder}/build -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${PREFIX} ${ARGN})
  file(STRINGS ${folder}/build/CMakeCache.txt found REGEX "^lido_DIR:")
  string(FIND "${found}" "lido_DIR:PATH=${PREFIX}/" place)
  expect("the program was built with another Lido: ${found}" place EQUAL 0)
  run(${CMAKE_COMMAND} --build ${folder}/build)
  execute_process(COMMAND ${folder}/build/app OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  expect("the program printed ${printed}" printed STREQUAL "all in use\n")
endfunction()

# Returns the files below a folder, each by its path from there.
function(list_files folder out)
  file(GLOB_RECURSE files LIST_DIRECTORIES OFF RELATIVE ${folder} ${folder}/*)
  list(SORT files)
  set(${out} "${files}" PARENT_SCOPE)
endfunction()
