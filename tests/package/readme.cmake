# Follows README.md and get-lido.md as a newcomer does: installs Lido by the commands there, pastes each program of README.md
# beside the CMake project, and builds and runs it. It does the same with the programs of the tutorials. The folders differ,
# the compiler is that of this build, and the library is built unoptimised and without the parts that need other libraries.
#
# With PREFIX, Lido is installed there already, and built with TOOLCHAIN; only the programs of README.md and of DOCUMENTS are
# tried, and run by EMULATOR.
#
# With ONE_HEADER, a folder with lido_all.hpp and lido.o, compiled from it, the programs of README.md include that header
# instead of headers of Lido.
cmake_minimum_required(VERSION 3.22)

# Returns a document's text, in which CMake sees no list.
function(read_document path out)
  file(READ ${path} text)
  string(REPLACE ";" "<semicolon>" text "${text}")
  string(REPLACE "[" "<bracket>" text "${text}")
  string(REPLACE "]" "<close>" text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

function(blocks_of kind text out)
  string(REGEX MATCHALL "```${kind}\n[^`]*```" found "${text}")
  list(TRANSFORM found REPLACE "^```[^\n]*\n" "")
  list(TRANSFORM found REPLACE "```$" "")
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

function(paste path text)
  string(REPLACE "<semicolon>" ";" text "${text}")
  string(REPLACE "<bracket>" "[" text "${text}")
  string(REPLACE "<close>" "]" text "${text}")
  file(WRITE ${path} "${text}")
endfunction()

file(REMOVE_RECURSE ${BINARY})
file(MAKE_DIRECTORY ${BINARY})
set(ENV{CMAKE_GENERATOR} ${GENERATOR})
set(ENV{CXX} ${CXX})

# ---- the installation

read_document(${SOURCE}/README.md readme)
set(manual docs/how-to/get-lido.md)
read_document(${SOURCE}/${manual} ways)
function(install_lido)
  blocks_of("sh" "${ways}" installation)
  file(CREATE_LINK ${SOURCE} ${BINARY}/lido SYMBOLIC)
  string(REPLACE build/release ${BINARY}/build installation "${installation}")
  string(REPLACE /usr/local ${BINARY}/prefix installation "${installation}")
  string(REPLACE "--parallel 4" "--parallel 2" installation "${installation}")
  string(REGEX MATCHALL "[^\n]+" commands "${installation}")
  # Only the library, as one unit and not optimised, takes a tenth of the time to compile.
  set(quickly "-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O0")
  foreach(part IN ITEMS TBB BOOST_LOCKFREE BOOST_ASIO STANDALONE_ASIO HIREDIS LIBPQ FMT PROMETHEUS)
    string(APPEND quickly " -DLIDO_WITH_${part}=OFF")
  endforeach()
  list(TRANSFORM commands APPEND " ${quickly}" AT 0)
  list(LENGTH commands count)
  if(NOT count EQUAL 3)
    message(FATAL_ERROR "${manual} is to configure, build and install, and says\n${installation}")
  endif()
  list(TRANSFORM commands REPLACE "^sudo " "")
  foreach(command IN LISTS commands)
    message(STATUS "${command}")
    separate_arguments(command UNIX_COMMAND "${command}")
    execute_process(COMMAND ${command} WORKING_DIRECTORY ${BINARY} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()

  # A warning of an untried compiler must not end a user's build; it ends the build of Lido's developers.
  file(READ ${BINARY}/build/compile_commands.json compiled)
  if(compiled MATCHES "-Werror")
    message(FATAL_ERROR "the recipe builds with -Werror")
  endif()
  file(READ ${SOURCE}/CMakePresets.json presets)
  string(JSON is_strict GET "${presets}" configurePresets 0 cacheVariables LIDO_WERROR)
  if(NOT is_strict)
    message(FATAL_ERROR "the presets build without -Werror")
  endif()
endfunction()

blocks_of("cmake project" "${ways}" project)
set(app build/app)
set(found_there -DCMAKE_PREFIX_PATH=${BINARY}/prefix)
if(EMULATOR)
  set(app build/app.exe)
endif()
if(ONE_HEADER)
  separate_arguments(LIBRARIES)
  set(found_there "-DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN}")
  set(project "cmake_minimum_required(VERSION 3.22)
project(app LANGUAGES CXX)
find_package(Threads REQUIRED)
add_executable(app main.cpp ${ONE_HEADER}/lido.o)
target_compile_features(app PRIVATE cxx_std_20)
target_include_directories(app PRIVATE ${ONE_HEADER})
target_link_libraries(app PRIVATE Threads::Threads ${LIBRARIES})
")
elseif(PREFIX)
  set(found_there -DCMAKE_TOOLCHAIN_FILE=${TOOLCHAIN} -Dlido_DIR=${PREFIX}/lib/cmake/lido)
else()
  install_lido()
  file(GLOB DOCUMENTS RELATIVE ${SOURCE} ${SOURCE}/docs/tutorial/*.md)
endif()

# ---- the programs

# The project is configured once, and builds each program in turn.
set(folder ${BINARY}/app)
paste(${folder}/main.cpp "int main() {}\n")
paste(${folder}/CMakeLists.txt "${project}")
execute_process(
  COMMAND ${CMAKE_COMMAND} -S ${folder} -B ${folder}/build ${found_there}
          "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Werror"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

# Builds and runs the program, which must print exactly what its comments say.
function(try_program name program)
  string(REGEX MATCHALL "// prints: [^\n]+" expected "${program}")
  list(TRANSFORM expected REPLACE "// prints: " "")
  list(JOIN expected "\n" expected)
  if(expected STREQUAL "")
    message(FATAL_ERROR "${name} does not say what it prints")
  endif()
  if(ONE_HEADER)
    string(REGEX REPLACE "#include <lido/[^\n]*" "#include \"lido_all.hpp\"" program "${program}")
  endif()
  paste(${folder}/main.cpp "${program}")
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${folder}/build --clean-first COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${EMULATOR} ${folder}/${app} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\r\n" "\n" printed "${printed}")
  if(NOT printed STREQUAL "${expected}\n")
    message(FATAL_ERROR "${name} printed\n${printed}and not\n${expected}")
  endif()
  message(STATUS "${name} prints what it says")
endfunction()

foreach(document IN LISTS DOCUMENTS ITEMS README.md)
  read_document(${SOURCE}/${document} text)
  blocks_of("cpp program" "${text}" programs)
  list(LENGTH programs count)
  if(document STREQUAL "README.md" AND NOT count EQUAL 3)
    message(FATAL_ERROR "README.md has ${count} programs, not three")
  endif()
  cmake_path(GET document STEM stem)
  set(number 0)
  foreach(program IN LISTS programs)
    math(EXPR number "${number} + 1")
    try_program(${stem}_${number} "${program}")
  endforeach()
endforeach()
