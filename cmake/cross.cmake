# Toolchain: another processor from an x86-64 Debian, with programs run by an emulator. The preset arm64 uses it.
set(LIDO_TRIPLE aarch64-linux-gnu CACHE STRING "Debian's name of the machine to compile for")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LIDO_TRIPLE)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${LIDO_TRIPLE})
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${LIDO_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${LIDO_TRIPLE}-g++)
# GCC for riscv64 has no instructions for atomics of 1 and of 16 bytes: std::barrier and Boost's stack use them.
set(CMAKE_CXX_STANDARD_LIBRARIES "-Wl,--as-needed -latomic")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR}-static -L /usr/${LIDO_TRIPLE})

# Boost's headers are the same for all processors, so those of the host do. Libraries must not be the host's.
set(CMAKE_FIND_ROOT_PATH /usr/${LIDO_TRIPLE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
