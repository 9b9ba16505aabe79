include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Each component has its own export, so that only a project that asks for it needs its library.
function(lido_install target export)
  install(
    TARGETS ${target}
    EXPORT ${export}
    INCLUDES
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT ${export} NAMESPACE lido:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido)
  get_target_property(headers ${target} LIDO_HEADERS)
  foreach(header IN LISTS headers)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/include ${header}/..)
    install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
  endforeach()
endfunction()
lido_install(lido lido-targets)
foreach(component IN ITEMS tbb boost trace asio standalone_asio tcp hiredis libpq fmt prometheus)
  if(TARGET lido_${component})
    lido_install(lido_${component} lido-${component}-targets)
  endif()
endforeach()

install(FILES ${PROJECT_SOURCE_DIR}/src/debug/lido.py DESTINATION ${CMAKE_INSTALL_DATADIR}/lido/gdb)
install(FILES ${PROJECT_SOURCE_DIR}/src/debug/lido.natvis DESTINATION ${CMAKE_INSTALL_DATADIR}/lido/natvis)

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/lido-config.cmake.in ${PROJECT_BINARY_DIR}/lido-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lido-config-version.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/lido-config.cmake ${PROJECT_BINARY_DIR}/lido-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido)

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
install(FILES ${PROJECT_BINARY_DIR}/lido.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

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
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
lido_pc_component(tbb tbb)
lido_pc_component(trace "")
lido_pc_component(hiredis hiredis)
lido_pc_component(libpq "libpq >= 14")
lido_pc_component(fmt "fmt >= 9")
lido_pc_component(prometheus prometheus-cpp-core)
