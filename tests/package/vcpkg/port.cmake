# Runs the overlay port of SOURCE with FEATURES, a list with commas. These stand-ins for functions of vcpkg take the
# arguments that its documentation names, and no others. They build the release alone, below BINARY.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../first_program.cmake)

macro(parse_arguments name flags values lists)
  cmake_parse_arguments(PARSE_ARGV 0 arg "${flags}" "${values}" "${lists}")
  expect("${name} knows no ${arg_UNPARSED_ARGUMENTS}" NOT DEFINED arg_UNPARSED_ARGUMENTS)
  expect("${name} needs a value for ${arg_KEYWORDS_MISSING_VALUES}" NOT DEFINED arg_KEYWORDS_MISSING_VALUES)
endmacro()

function(vcpkg_check_features)
  parse_arguments(vcpkg_check_features "" "OUT_FEATURE_OPTIONS;PREFIX" "FEATURES;INVERTED_FEATURES")
  set(options "")
  set(names "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES name option)
    list(APPEND names ${name})
    set(is_on OFF)
    if(name IN_LIST FEATURES)
      set(is_on ON)
    endif()
    list(APPEND options -D${option}=${is_on})
  endwhile()
  list(SORT names)
  expect("vcpkg.json has the features ${known_features}, the portfile ${names}" names STREQUAL known_features)
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_find_acquire_program variable)
  expect("no program ${variable}" variable STREQUAL PKGCONFIG)
  find_program(${variable} pkg-config REQUIRED)
endfunction()

# An unused option is misspelt; an option with its default has no feature.
function(vcpkg_cmake_configure)
  parse_arguments(
    vcpkg_cmake_configure "DISABLE_PARALLEL_CONFIGURE;NO_CHARSET_FLAG;WINDOWS_USE_MSBUILD"
    "SOURCE_PATH;GENERATOR;LOGFILE_BASE" "OPTIONS;OPTIONS_RELEASE;OPTIONS_DEBUG;MAYBE_UNUSED_VARIABLES")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${BINARY}/build -G ${GENERATOR} ${LIDO_IN_ONE_PIECE}
            -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DBUILD_SHARED_LIBS=OFF
            -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_INSTALL_LIBDIR=lib ${arg_OPTIONS} ${arg_OPTIONS_RELEASE}
    ERROR_VARIABLE said COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
  expect("${said}" NOT said MATCHES "variables were not used")
  file(STRINGS ${BINARY}/build/CMakeCache.txt left REGEX "^LIDO_WITH_.*=AUTO$")
  expect("no feature sets ${left}" NOT left)
endfunction()

function(vcpkg_cmake_install)
  parse_arguments(vcpkg_cmake_install "DISABLE_PARALLEL;ADD_BIN_TO_PATH" "" "")
  run(${CMAKE_COMMAND} --build ${BINARY}/build -j 2)
  run(${CMAKE_COMMAND} --install ${BINARY}/build)
endfunction()

# Moves the CMake package to where vcpkg looks for it, and corrects its path to the prefix.
function(vcpkg_cmake_config_fixup)
  parse_arguments(
    vcpkg_cmake_config_fixup "DO_NOT_DELETE_PARENT_CONFIG_PATH;NO_PREFIX_CORRECTION" "PACKAGE_NAME;CONFIG_PATH;TOOLS_PATH" "")
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*.cmake)
  expect("there is nothing in ${arg_CONFIG_PATH}" files)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n" "" text "${text}")
    string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)\n"
                   "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_DIR}/../..\" ABSOLUTE)\n" text "${text}")
    string(REPLACE "{CMAKE_CURRENT_LIST_DIR}/../../../\"" "{CMAKE_CURRENT_LIST_DIR}/../../\"" text "${text}")
    get_filename_component(name ${file} NAME)
    file(WRITE ${CURRENT_PACKAGES_DIR}/share/${PORT}/${name} "${text}")
  endforeach()
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake)
endfunction()

function(vcpkg_fixup_pkgconfig)
  parse_arguments(vcpkg_fixup_pkgconfig SKIP_CHECK "" "")
  expect("there is no file for pkg-config" EXISTS ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/${PORT}.pc)
endfunction()

function(vcpkg_install_copyright)
  parse_arguments(vcpkg_install_copyright "" COMMENT FILE_LIST)
  file(READ ${arg_FILE_LIST} text)
  file(WRITE ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright "${text}")
endfunction()

# ---- the port

file(REMOVE_RECURSE ${BINARY})
set(PORT lido)
set(CURRENT_PACKAGES_DIR ${BINARY}/packages/lido)
file(READ ${SOURCE}/cmake/vcpkg/lido/vcpkg.json manifest)
string(JSON name GET "${manifest}" name)
string(JSON version GET "${manifest}" version)
expect("vcpkg.json is of ${name} ${version}" name STREQUAL PORT AND version STREQUAL VERSION)
string(JSON count LENGTH "${manifest}" features)
math(EXPR last "${count} - 1")
foreach(number RANGE ${last})
  string(JSON feature MEMBER "${manifest}" features ${number})
  list(APPEND known_features ${feature})
endforeach()
list(SORT known_features)

string(REPLACE "," ";" FEATURES "core,${FEATURES}")
include(${SOURCE}/cmake/vcpkg/lido/portfile.cmake)

# ---- the result

list(REMOVE_ITEM FEATURES core "")
foreach(feature IN LISTS FEATURES)
  expect("${feature} makes no component"
         EXISTS ${CURRENT_PACKAGES_DIR}/share/lido/lido-${feature}-targets.cmake)
endforeach()
file(READ ${CURRENT_PACKAGES_DIR}/share/lido/copyright copyright)
expect("the copyright is ${copyright}" copyright MATCHES "^Boost Software License")
try_first_program(${BINARY}/app ${CURRENT_PACKAGES_DIR})
