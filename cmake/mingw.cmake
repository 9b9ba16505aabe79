# Toolchain: Windows on x86-64 from a Debian, with programs run by Wine. The preset mingw uses it.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
# Of its two kinds the one with threads of the C++ library.
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static) # so that programs run without the compiler's DLLs beside them
# Parts of the C++ library that lose wake-ups there.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${CMAKE_CURRENT_LIST_DIR}/mingw")
# Wine's files, and the process that its programs share, are of this build alone.
set(CMAKE_CROSSCOMPILING_EMULATOR env WINEPREFIX=${CMAKE_BINARY_DIR}/wine WINEDEBUG=-all /usr/lib/wine/wine64)

# Boost's headers are the same for all systems, so those of the host do, but not what lies beside them.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/host)
file(CREATE_LINK /usr/include/boost ${CMAKE_BINARY_DIR}/host/boost SYMBOLIC)
set(Boost_INCLUDE_DIR ${CMAKE_BINARY_DIR}/host CACHE PATH "")
set(Boost_NO_BOOST_CMAKE ON CACHE BOOL "")

set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
