# Makes the packages for Debian from SOURCE as README.md says, unpacks them below BINARY, and builds programs with what is
# there. Also installs the shared library by component.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../first_program.cmake)

# ---- the commands of README.md, beside a folder lido, for a test's maintainer, and quickly

file(REMOVE_RECURSE ${BINARY})
file(MAKE_DIRECTORY ${BINARY})
file(CREATE_LINK ${SOURCE} ${BINARY}/lido SYMBOLIC)
set(build ${BINARY}/build)
set(ENV{CMAKE_GENERATOR} ${GENERATOR})
file(READ ${SOURCE}/README.md manual)
if(NOT manual MATCHES "```sh deb\n([^`]*)```")
  message(FATAL_ERROR "README.md has no block deb")
endif()
string(REPLACE "\\\n" "" commands "${CMAKE_MATCH_1}")
string(REGEX MATCHALL "[^\n]+" commands "${commands}")
list(LENGTH commands count)
expect("the commands are ${commands}" count EQUAL 4)
list(POP_FRONT commands configure build_it pack install)
set(contact "-DLIDO_CONTACT=\"Your Name <you@your.domain>\"")
list(JOIN LIDO_QUICKLY " " quickly)
string(REPLACE "${contact}" "" without "${configure} ${quickly}")
string(REPLACE "${contact}" "-DLIDO_CONTACT=\"Test <test@lido.invalid>\"" with "${configure} ${quickly}")
string(REPLACE "--parallel 4" "--parallel 2" build_it "${build_it}")
expect("no maintainer is named by ${configure}" NOT with STREQUAL without)

function(shell command)
  message(STATUS "${command}")
  execute_process(COMMAND sh -c "${command}" WORKING_DIRECTORY ${BINARY} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(cpack ${CPACK} -G DEB --config ${build}/CPackConfig.cmake)
file(READ ${SOURCE}/cmake/project.json project)
string(JSON contact GET "${project}" contact)
string(JSON address GET "${project}" address)
if(NOT contact)
  shell("${without}")
  expect_refusal("${cpack}" "-DLIDO_CONTACT=" "cmake/project.json")
endif()
# In a copy of the tree, the project names a contact.
foreach(part IN ITEMS CMakeLists.txt LICENSE CHANGELOG.md cmake include src)
  file(COPY ${SOURCE}/${part} DESTINATION ${BINARY}/copy)
endforeach()
file(WRITE ${BINARY}/copy/cmake/project.json "{\"address\": \"\", \"contact\": \"us@lido.invalid\"}")
run(${CMAKE_COMMAND} -S ${BINARY}/copy -B ${BINARY}/copy/build -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_PREFIX=/usr
    -DLIDO_BUILD_TESTS=OFF -DLIDO_BUILD_EXAMPLES=OFF -DCMAKE_CXX_COMPILER=${CXX})
file(STRINGS ${BINARY}/copy/build/CPackConfig.cmake named REGEX "CPACK_PACKAGE_CONTACT|CPACK_LIDO_REFUSAL")
expect("a contact in project.json gives ${named}" named STREQUAL
       "set(CPACK_PACKAGE_CONTACT \"The Lido developers <us@lido.invalid>\")")

shell("${with}")
shell("${build_it}")

# ---- by component

foreach(component IN ITEMS runtime development)
  run(${CMAKE_COMMAND} --install ${build} --component ${component} --prefix ${BINARY}/${component})
  list_files(${BINARY}/${component} ${component})
endforeach()
run(${CMAKE_COMMAND} --install ${build} --prefix ${BINARY}/both)
list_files(${BINARY}/both both)
set(of_runtime ${both})
list(FILTER of_runtime INCLUDE REGEX "^lib/.*\\.so\\.[0-9.]+$")
expect("the component runtime has ${runtime}" runtime STREQUAL of_runtime AND runtime MATCHES "liblido\\.so\\.${ABI};")
set(all ${runtime} ${development})
list(SORT all)
expect("the components have ${all}, and both are ${both}" all STREQUAL both)
foreach(file IN ITEMS LICENSE CHANGELOG.md)
  expect("${file} is not installed" share/doc/lido/${file} IN_LIST development)
endforeach()

# ---- the packages

shell("${pack}")
if(NOT install MATCHES "^sudo apt-get install ([^ ]*/liblido[^ ]*) ([^ ]*/liblido-dev[^ ]*)$")
  message(FATAL_ERROR "packages are installed by ${install}")
endif()
file(GLOB packages ${BINARY}/${CMAKE_MATCH_1} ${BINARY}/${CMAKE_MATCH_2})
list(LENGTH packages count)
expect("there are the packages ${packages}" count EQUAL 2)
run(${LINTIAN} --allow-root --fail-on error ${packages})

function(expect_field package field value)
  execute_process(COMMAND dpkg-deb -f ${package} ${field} OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
  expect("${package}: ${field} is ${found} and not ${value}" found STREQUAL value)
endfunction()
execute_process(COMMAND dpkg --print-architecture OUTPUT_VARIABLE machine OUTPUT_STRIP_TRAILING_WHITESPACE)
foreach(package IN ITEMS "liblido${ABI}:libs" "liblido-dev:libdevel")
  string(REPLACE ":" ";" package ${package})
  list(POP_FRONT package name section)
  set(file ${build}/${name}_${VERSION}-1_${machine}.deb)
  expect("there are the packages ${packages}" EXISTS ${file})
  expect_field(${file} Section ${section})
  expect_field(${file} Homepage "${address}")
  run(dpkg-deb -x ${file} ${BINARY}/root)
  run(dpkg-deb -e ${file} ${BINARY}/${name})
  file(READ ${BINARY}/root/usr/share/doc/${name}/copyright copyright)
  expect("copyright of ${name}: ${copyright}" copyright MATCHES "Copyright: The Lido developers\nLicense: BSL-1\\.0\n")
endforeach()
expect_field(${file} Depends "liblido${ABI} (= ${VERSION}-1)")

file(STRINGS ${BINARY}/liblido${ABI}/symbols symbols)
list(POP_FRONT symbols first)
expect("symbols begin with ${first}" first STREQUAL "liblido.so.${ABI} liblido${ABI} #MINVER#")
expect("no symbol is Lido's" symbols MATCHES "_ZN4lido2v${ABI}14block_resource")
list(FILTER symbols EXCLUDE REGEX " ${VERSION}$")
expect("symbols of another version: ${symbols}" NOT symbols)
file(GLOB compiled ${BINARY}/root/usr/lib/*/*lido*trace* ${BINARY}/root/usr/lib/*/*/*trace* ${BINARY}/root/usr/include/lido/trace.hpp)
expect("the packages have a compiled component: ${compiled}" NOT compiled)

# ---- programs

try_first_program(${BINARY}/app ${BINARY}/root/usr)
file(GLOB library ${BINARY}/root/usr/lib/*/liblido.so)
get_filename_component(libraries ${library} DIRECTORY)
expect("the libraries are in ${libraries}" libraries STREQUAL "${BINARY}/root/usr/lib/${TRIPLET}")
set(ENV{LD_LIBRARY_PATH} ${libraries})
set(ENV{PKG_CONFIG_PATH} ${libraries}/pkgconfig)
run(${PKG_CONFIG} --print-errors --exact-version=${VERSION} lido)
run(${CMAKE_COMMAND} -DPREFIX=${BINARY}/root/usr -DBINARY=${BINARY}/pkg_config -DPKG_CONFIG=${PKG_CONFIG} -DCXX=${CXX}
    -P ${CMAKE_CURRENT_LIST_DIR}/../pkg_config.cmake)

# ---- a static library is not packed

run(${CMAKE_COMMAND} ${build} -DBUILD_SHARED_LIBS=OFF)
expect_refusal("${cpack}" -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_PREFIX=/usr)
