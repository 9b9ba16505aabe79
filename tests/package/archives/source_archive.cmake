# Makes the source archive of the build in BUILD, unpacks it below BINARY, and continues with that tree alone, where git does
# not work. It is configured, built and installed, and packed into archives again.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../first_program.cmake)

file(REMOVE_RECURSE ${BINARY})
file(MAKE_DIRECTORY ${BINARY}/bin)
file(WRITE ${BINARY}/bin/git "#!/bin/sh\ntouch ${BINARY}/git_ran\nexit 1\n")
file(CHMOD ${BINARY}/bin/git PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
set(ENV{PATH} "${BINARY}/bin:$ENV{PATH}")
set(ENV{CMAKE_GENERATOR} ${GENERATOR})

# Unpacks an archive with one folder named lido-<...>, and returns its content.
function(unpack archive folder out_folder out_files)
  file(GLOB archives ${archive})
  list(LENGTH archives count)
  expect("there are ${count} archives ${archive}" count EQUAL 1)
  file(ARCHIVE_EXTRACT INPUT ${archives} DESTINATION ${folder})
  file(GLOB tree ${folder}/*)
  list_files(${tree} files)
  set(${out_folder} ${tree} PARENT_SCOPE)
  set(${out_files} "${files}" PARENT_SCOPE)
endfunction()

# ---- the tree, with everything that the tests are made of

run(${CPACK} --config ${BUILD}/CPackSourceConfig.cmake -B ${BINARY}/packed)
unpack(${BINARY}/packed/lido-${VERSION}.tar.gz ${BINARY}/sources tree files)
expect("the sources are in ${tree}" tree MATCHES "/lido-${VERSION}$")
foreach(file IN LISTS files)
  expect("the source archive has ${file}" NOT file MATCHES "(^|/)(\\.git|\\.cache|__pycache__)/|^build|\\.(pyc|o)$")
endforeach()
run(${CMAKE_COMMAND} -S ${tree} -B ${tree}/build -Wno-dev -DLIDO_WITH_BOOST_LOCKFREE=OFF ${LIDO_QUICKLY})
expect("the configuration calls git" NOT EXISTS ${BINARY}/git_ran)

# ---- the library

run(${CMAKE_COMMAND} --build ${tree}/build -j 2 --target lido)
run(${CMAKE_COMMAND} --install ${tree}/build --prefix ${BINARY}/prefix)
try_first_program(${BINARY}/app ${BINARY}/prefix)

# ---- archives of that tree: the same sources, without the build folder, and what was installed

run(${CMAKE_COMMAND} --build ${tree}/build --target package_source)
unpack(${tree}/build/lido-${VERSION}.tar.gz ${BINARY}/again again files_again)
expect("the source archive of a source archive is another" files STREQUAL files_again)

run(${CPACK} -G TGZ --config ${tree}/build/CPackConfig.cmake -B ${BINARY}/packed)
unpack(${BINARY}/packed/lido-${VERSION}-*.tar.gz ${BINARY}/binary binary packed)
list_files(${BINARY}/prefix installed)
expect("the archive has ${packed}, and installed is ${installed}" packed STREQUAL installed)
