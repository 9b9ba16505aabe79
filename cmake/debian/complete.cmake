# Run by cpack when it has installed what the packages for Debian hold: adds what Debian wants in each of them.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(tree ${CMAKE_CURRENT_LIST_DIR}/../..)
set(runtime ${CPACK_TEMPORARY_DIRECTORY}/runtime${CPACK_PACKAGING_INSTALL_PREFIX})
set(development ${CPACK_TEMPORARY_DIRECTORY}/development${CPACK_PACKAGING_INSTALL_PREFIX})
if(NOT CPACK_DEBIAN_PACKAGE_VERSION)
  set(CPACK_DEBIAN_PACKAGE_VERSION ${CPACK_PACKAGE_VERSION})
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

# ---- what stays out: compiled components, each of which would be a package of its own, and the licence's second copy

foreach(file IN LISTS CPACK_LIDO_LEFT_OUT)
  file(GLOB found ${runtime}/${file} ${development}/${file})
  if(found)
    file(REMOVE ${found})
  endif()
endforeach()
file(REMOVE_RECURSE ${development}/share/doc/lido)

# ---- copyright and both changelogs

set(source "")
if(CPACK_PACKAGE_HOMEPAGE_URL)
  set(source "Source: ${CPACK_PACKAGE_HOMEPAGE_URL}\n")
endif()
file(READ ${tree}/LICENSE licence)
string(REGEX REPLACE "\n\n" "\n.\n" licence "\n${licence}")
string(REGEX REPLACE "\n([^\n])" "\n \\1" licence "${licence}")

foreach(package IN ITEMS RUNTIME DEVELOPMENT)
  string(TOLOWER ${package} component)
  set(folder ${${component}}/share/doc/${CPACK_DEBIAN_${package}_PACKAGE_NAME})
  file(WRITE ${folder}/copyright
       "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: lido\n${source}\n"
       "Files: *\nCopyright: ${CPACK_PACKAGE_VENDOR}\nLicense: BSL-1.0${licence}")
  file(WRITE ${folder}/changelog.Debian
       "lido (${CPACK_DEBIAN_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
       "  * Made by cpack of Lido ${CPACK_PACKAGE_VERSION}; its own changes are in changelog.gz.\n\n"
       " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  configure_file(${tree}/CHANGELOG.md ${folder}/changelog COPYONLY)
  execute_process(COMMAND gzip -9n ${folder}/changelog ${folder}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD ${folder}/changelog.gz ${folder}/changelog.Debian.gz ${folder}/copyright
       PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()

# ---- the symbols of the shared library, each with the version that programs need for it

file(GLOB_RECURSE library ${runtime}/liblido.so.${CPACK_PACKAGE_VERSION})
get_filename_component(folder ${CPACK_LIDO_SYMBOLS} DIRECTORY)
file(MAKE_DIRECTORY ${folder})
execute_process(
  COMMAND dpkg-gensymbols -q -p${CPACK_DEBIAN_RUNTIME_PACKAGE_NAME} -v${CPACK_DEBIAN_PACKAGE_VERSION} -e${library}
          -O${CPACK_LIDO_SYMBOLS}
  WORKING_DIRECTORY ${folder} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
