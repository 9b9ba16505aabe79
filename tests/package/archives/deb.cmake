# Makes the packages for Debian from SOURCE, unpacks them below BINARY, and builds programs with what is there. Also
# installs the shared library by component. The maintainer is a test's.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../first_program.cmake)

file(REMOVE_RECURSE ${BINARY})
set(build ${BINARY}/build)
set(ENV{CMAKE_GENERATOR} ${GENERATOR})
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${build} -DLIDO_BUILD_TESTS=OFF -DLIDO_BUILD_EXAMPLES=OFF -DBUILD_SHARED_LIBS=ON
    -DCMAKE_INSTALL_PREFIX=/usr ${LIDO_QUICKLY})
file(READ ${SOURCE}/cmake/project.json project)
string(JSON contact GET "${project}" contact)
string(JSON address GET "${project}" address)
if(NOT contact)
  expect_refusal("${CPACK};-G;DEB;--config;${build}/CPackConfig.cmake" "-DLIDO_CONTACT=" "cmake/project.json")
endif()
run(${CMAKE_COMMAND} --build ${build} -j 2)

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

run(${CMAKE_COMMAND} ${build} -DLIDO_CONTACT=Test\ <test@lido.invalid>)
run(${CPACK} -G DEB --config ${build}/CPackConfig.cmake -B ${BINARY}/packed)
file(GLOB packages ${BINARY}/packed/*.deb)
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
  set(file ${BINARY}/packed/${name}_${VERSION}-1_${machine}.deb)
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
run(${CMAKE_COMMAND} -DPREFIX=${BINARY}/root/usr -DBINARY=${BINARY}/pkg_config -DPKG_CONFIG=${PKG_CONFIG} -DCXX=${CXX}
    -P ${CMAKE_CURRENT_LIST_DIR}/../pkg_config.cmake)
