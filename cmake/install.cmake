include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What a program needs to run is the component runtime: shared libraries. All else is the component development.
# Each of Lido's components has its own export, so that only a project that asks for it needs its library.
function(lido_install target export)
  install(
    TARGETS ${target}
    EXPORT ${export}
    RUNTIME COMPONENT runtime
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
    ARCHIVE COMPONENT development
    INCLUDES
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT ${export} NAMESPACE lido:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido COMPONENT development)
  get_target_property(headers ${target} LIDO_HEADERS)
  foreach(header IN LISTS headers)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/include ${header}/..)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder} COMPONENT development)
  endforeach()
endfunction()
lido_install(lido lido-targets)
install(
  TARGETS lido_c
  EXPORT lido-targets
  INCLUDES
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(component IN LISTS lido_all_components)
  if(TARGET lido_${component})
    lido_install(lido_${component} lido-${component}-targets)
  endif()
endforeach()

function(lido_install_files folder) # files
  install(FILES ${ARGN} DESTINATION ${folder} COMPONENT development)
endfunction()
lido_install_files(${CMAKE_INSTALL_DATADIR}/lido/gdb ${PROJECT_SOURCE_DIR}/src/debug/lido.py)
lido_install_files(${CMAKE_INSTALL_DATADIR}/lido/natvis ${PROJECT_SOURCE_DIR}/src/debug/lido.natvis)
lido_install_files(${CMAKE_INSTALL_DATAROOTDIR}/doc/lido ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md)
# The module as it is, for builds that know modules in their own way.
lido_install_files(${CMAKE_INSTALL_DATADIR}/lido/module ${PROJECT_SOURCE_DIR}/src/lido.cppm)

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/lido-config.cmake.in ${PROJECT_BINARY_DIR}/lido-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lido-config-version.cmake COMPATIBILITY SameMinorVersion)
lido_install_files(${CMAKE_INSTALL_LIBDIR}/cmake/lido ${PROJECT_BINARY_DIR}/lido-config.cmake
                   ${PROJECT_BINARY_DIR}/lido-config-version.cmake)

# From the folder of lido.pc back to the prefix, so that an installed tree can be moved.
file(RELATIVE_PATH lido_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
# What lido_linkage asks for, once more for projects that do not use CMake.
get_target_property(lido_type lido TYPE)
set(lido_pc_cflags "")
set(lido_pc_libs "")
if(NOT MSVC) # which has no such flag
  set(lido_pc_cflags " -pthread")
  set(lido_pc_libs " -pthread")
endif()
if(lido_type STREQUAL "SHARED_LIBRARY")
  string(APPEND lido_pc_cflags " -DLIDO_SHARED")
elseif(CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
  string(APPEND lido_pc_libs " -Wl,-z,nodelete")
endif()
if(WIN32)
  string(APPEND lido_pc_libs " -lsynchronization -lntdll -lws2_32")
endif()
if(LIDO_DYNAMIC_TLS)
  string(APPEND lido_pc_cflags " -DLIDO_DYNAMIC_TLS")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/lido.pc.in ${PROJECT_BINARY_DIR}/lido.pc @ONLY)
lido_install_files(${CMAKE_INSTALL_LIBDIR}/pkgconfig ${PROJECT_BINARY_DIR}/lido.pc)

# The components that are more than headers of lido, under the names that their libraries have for pkg-config.
function(lido_pc_component lido_pc_component lido_pc_requires)
  if(NOT TARGET lido_${lido_pc_component})
    return()
  endif()
  set(lido_pc_own_libs "")
  get_target_property(type lido_${lido_pc_component} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    set(lido_pc_own_libs "Libs: -L\${libdir} -llido_${lido_pc_component}")
  endif()
  set(file ${PROJECT_BINARY_DIR}/lido-${lido_pc_component}.pc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/lido-component.pc.in ${file} @ONLY)
  lido_install_files(${CMAKE_INSTALL_LIBDIR}/pkgconfig ${file})
endfunction()
lido_pc_component(tbb tbb)
lido_pc_component(trace "")
lido_pc_component(hiredis hiredis)
lido_pc_component(libpq "libpq >= 14")
lido_pc_component(fmt "fmt >= 9")
lido_pc_component(prometheus prometheus-cpp-core)
