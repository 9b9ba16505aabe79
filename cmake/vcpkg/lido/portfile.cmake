# Overlay port of vcpkg: Lido from the tree that this file lies in. A test runs it with stand-ins for the functions of
# vcpkg, which build Lido; with vcpkg itself it is untried. In a registry, vcpkg_from_git would set SOURCE_PATH.
# vcpkg sees changes of this folder alone: after one of the sources, `vcpkg remove lido`, and install with
# --no-binarycaching.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(
  OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    boost-asio LIDO_WITH_BOOST_ASIO
    boost-lockfree LIDO_WITH_BOOST_LOCKFREE
    fmt LIDO_WITH_FMT
    hiredis LIDO_WITH_HIREDIS
    libpq LIDO_WITH_LIBPQ
    prometheus LIDO_WITH_PROMETHEUS
    standalone-asio LIDO_WITH_STANDALONE_ASIO
    tbb LIDO_WITH_TBB)
if("hiredis" IN_LIST FEATURES OR "libpq" IN_LIST FEATURES)
  vcpkg_find_acquire_program(PKGCONFIG)
  list(APPEND FEATURE_OPTIONS "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
endif()

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DLIDO_BUILD_TESTS=OFF -DLIDO_BUILD_EXAMPLES=OFF ${FEATURE_OPTIONS})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/lido)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
