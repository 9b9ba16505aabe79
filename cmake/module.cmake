# The C++20 module as a target: lido::module, which brings lido::lido along. Only CMake 3.28 and later read this file.
add_library(lido_module STATIC)
add_library(lido::module ALIAS lido_module)
# Without ccache, which does not keep the compiled module.
set_target_properties(lido_module PROPERTIES EXPORT_NAME module POSITION_INDEPENDENT_CODE ON CXX_COMPILER_LAUNCHER "")
target_sources(
  lido_module PUBLIC FILE_SET CXX_MODULES BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${PROJECT_SOURCE_DIR}/src/lido.cppm)
target_link_libraries(lido_module PUBLIC lido)
lido_warnings(lido_module)

# What is installed is the source: each project compiles it for itself.
if(LIDO_INSTALL)
  include(GNUInstallDirs)
  install(
    TARGETS lido_module
    EXPORT lido-module-targets
    ARCHIVE COMPONENT development
    FILE_SET CXX_MODULES DESTINATION ${CMAKE_INSTALL_DATADIR}/lido/module COMPONENT development)
  install(
    EXPORT lido-module-targets
    NAMESPACE lido::
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lido
    CXX_MODULES_DIRECTORY module
    COMPONENT development)
endif()
