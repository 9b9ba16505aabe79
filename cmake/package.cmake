# What cpack makes of a build: archives, and the packages liblido0 and liblido-dev for Debian.
set(LIDO_CONTACT "" CACHE STRING "Maintainer of the Debian packages, as 'Your Name <you@your.domain>'")

function(lido_pack)
  file(READ ${PROJECT_SOURCE_DIR}/cmake/project.json project)
  string(JSON address GET "${project}" address)
  string(JSON contact GET "${project}" contact)
  if(LIDO_CONTACT)
    set(contact ${LIDO_CONTACT})
  elseif(contact) # an address alone
    set(contact "The Lido developers <${contact}>")
  endif()

  set(CPACK_PACKAGE_NAME lido)
  set(CPACK_PACKAGE_VENDOR "The Lido developers")
  set(CPACK_PACKAGE_CONTACT ${contact})
  set(CPACK_PACKAGE_HOMEPAGE_URL ${address})
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "C++20 library of thread-safe object pools")
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_VERBATIM_VARIABLES ON)
  set(CPACK_GENERATOR TGZ)
  set(CPACK_COMPONENTS_ALL runtime development)
  set(CPACK_PACKAGE_FILE_NAME lido-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})

  # ---- the source archive

  set(CPACK_SOURCE_GENERATOR TGZ)
  set(CPACK_SOURCE_PACKAGE_FILE_NAME lido-${PROJECT_VERSION})
  # The expressions match whole paths, and the folders above the tree may have any name.
  string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" tree ${PROJECT_SOURCE_DIR})
  string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" build ${PROJECT_BINARY_DIR})
  set(CPACK_SOURCE_IGNORE_FILES
      "^${build}/" "^${tree}/(cmake-)?build([-_.][^/]*)?/" "^${tree}/CMakeUserPresets\\.json$" "^${tree}/(.*/)?\\.git(/|$)"
      "^${tree}/(.*/)?(\\.cache|\\.vscode|\\.idea|__pycache__|node_modules)/" "^${tree}/.*\\.pyc$")

  # ---- the packages for Debian: the library, and what a program is built with, without components that are compiled

  if(NOT contact)
    string(CONCAT CPACK_LIDO_REFUSAL "Debian packages name a maintainer: configure with "
           "-DLIDO_CONTACT=\"Your Name <you@your.domain>\", or set \"contact\" in cmake/project.json")
  elseif(NOT BUILD_SHARED_LIBS OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(CPACK_LIDO_REFUSAL "Debian packages need -DBUILD_SHARED_LIBS=ON -DCMAKE_INSTALL_PREFIX=/usr")
  endif()
  set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/debian/config.cmake)
  set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debian/complete.cmake)
  foreach(component IN ITEMS trace hiredis libpq prometheus)
    if(TARGET lido_${component})
      get_target_property(left_out lido_${component} LIDO_HEADERS)
      foreach(header IN LISTS left_out)
        file(RELATIVE_PATH header ${PROJECT_SOURCE_DIR} ${header})
        list(APPEND CPACK_LIDO_LEFT_OUT ${header})
      endforeach()
      list(APPEND CPACK_LIDO_LEFT_OUT ${CMAKE_INSTALL_LIBDIR}/liblido_${component}.*
           ${CMAKE_INSTALL_LIBDIR}/cmake/lido/lido-${component}-* ${CMAKE_INSTALL_LIBDIR}/pkgconfig/lido-${component}.pc)
    endif()
  endforeach()

  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
  set(CPACK_DEBIAN_PACKAGE_HOMEPAGE ${address})
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
  set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
  set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS runtime)
  foreach(package IN ITEMS RUNTIME DEVELOPMENT)
    set(CPACK_DEBIAN_${package}_PACKAGE_SOURCE lido)
    set(CPACK_DEBIAN_${package}_PACKAGE_MULTIARCH same) # for CMake 3.31; earlier ones write no such field
  endforeach()

  string(CONCAT text "Threads take objects from a pool and return them in about a nanosecond.\n"
         "There are pools of objects, blocks and connections, and maps of values\nbehind handles. "
         "A pool has no more objects than its options allow.\n \n")
  set(CPACK_LIDO_SYMBOLS ${PROJECT_BINARY_DIR}/debian/symbols)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME liblido${LIDO_ABI_VERSION})
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/cmake/debian/triggers ${CPACK_LIDO_SYMBOLS})
  set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "${text}This package contains the shared library.")
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME liblido-dev)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libtbb-dev, libboost-dev, libasio-dev, libfmt-dev")
  set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
      "${text}This package contains headers, and files for CMake, pkg-config and gdb.")

  include(CPack)
endfunction()
lido_pack()
