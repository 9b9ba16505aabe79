include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(
  TARGETS lido
  EXPORT lido-targets
  FILE_SET HEADERS)
if(TARGET lido_tbb)
  # Its own export, so that only who asks for it needs oneTBB.
  install(
    TARGETS lido_tbb
    EXPORT lido-tbb-targets
    FILE_SET HEADERS)
  install(EXPORT lido-tbb-targets NAMESPACE lido:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido)
endif()
foreach(component IN ITEMS asio standalone_asio tcp hiredis libpq)
  if(TARGET lido_${component})
    install(
      TARGETS lido_${component}
      EXPORT lido-${component}-targets
      FILE_SET HEADERS)
    install(EXPORT lido-${component}-targets NAMESPACE lido:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido)
  endif()
endforeach()
install(EXPORT lido-targets NAMESPACE lido:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido)

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/lido-config.cmake.in ${PROJECT_BINARY_DIR}/lido-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lido-config-version.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/lido-config.cmake ${PROJECT_BINARY_DIR}/lido-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido)

# From the folder of lido.pc back to the prefix, so that an installed tree can be moved.
file(RELATIVE_PATH lido_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
# What lido_linkage asks for, once more for those who do not use CMake.
get_target_property(lido_type lido TYPE)
set(lido_pc_cflags "")
set(lido_pc_libs "")
if(lido_type STREQUAL "SHARED_LIBRARY")
  set(lido_pc_cflags " -DLIDO_SHARED")
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(lido_pc_libs " -Wl,-z,nodelete")
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
lido_pc_component(hiredis hiredis)
lido_pc_component(libpq "libpq >= 14")
