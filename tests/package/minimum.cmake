# Debian has no CMake 3.22 to build with, so this looks for features of later versions in everything that a user's build
# reads.
cmake_minimum_required(VERSION 3.22)

list(
  APPEND newer
  FILE_SET HEADER_SET EXPORT_NO_SYSTEM INITIALIZE_FROM_VARIABLE LIBRARIES_DIRECT LIBRARIES_ONLY_TARGETS # 3.23
  "find_package\\([^)]*GLOBAL" TARGETS_GLOBAL FIND_PACKAGE_ARGS PATH_EQUAL WARNING_AS_ERROR # 3.24
  NO_CMAKE_INSTALL_PREFIX DEPENDENCY_PROVIDER DOWNLOAD_EXTRACT_TIMESTAMP "<LINK_LIBRARY:" "<LINK_GROUP:" "<PATH"
  "block\\(" PROPAGATE VALIDATOR NO_CACHE "[( ]LINUX[ )]" "[( ]BSD[ )]" "add_subdirectory\\([^)]*SYSTEM" # 3.25
  "FetchContent_Declare\\([^)]*SYSTEM")
list(JOIN newer "|" newer)

file(GLOB files ${SOURCE}/CMakeLists.txt ${SOURCE}/src/CMakeLists.txt ${SOURCE}/cmake/*.cmake ${SOURCE}/cmake/*.in
     ${SOURCE}/cmake/debian/*.cmake)
list(REMOVE_ITEM files ${SOURCE}/cmake/module.cmake) # modules came with 3.28, which alone reads this file
foreach(file IN LISTS files)
  file(READ ${file} text)
  string(REGEX REPLACE "#[^\n]*" "" text "${text}")
  if(text MATCHES "${newer}")
    message(SEND_ERROR "${file}: CMake 3.22 does not know ${CMAKE_MATCH_0}")
  endif()
endforeach()
file(READ ${SOURCE}/CMakeLists.txt text)
if(NOT text MATCHES "^cmake_minimum_required\\(VERSION 3\\.22\\)")
  message(SEND_ERROR "CMakeLists.txt asks for another CMake than 3.22")
endif()
if(NOT text MATCHES "if\\(CMAKE_VERSION VERSION_GREATER_EQUAL 3\\.28 AND LIDO_MODULE\\)\n  include\\(cmake/module.cmake\\)")
  message(SEND_ERROR "CMakeLists.txt does not leave cmake/module.cmake to CMake 3.28")
endif()
