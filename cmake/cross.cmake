# Toolchain: another processor from an x86-64 Debian, with programs run by an emulator. The preset emulated uses it.
set(LIDO_TRIPLE aarch64-linux-gnu CACHE STRING "Debian's name of the machine to compile for")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LIDO_TRIPLE)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${LIDO_TRIPLE})
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${LIDO_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${LIDO_TRIPLE}-g++)
# GCC for riscv64 has no instructions for atomics of 1 and of 16 bytes: std::barrier and Boost's stack use them.
set(CMAKE_CXX_STANDARD_LIBRARIES "-Wl,--as-needed -latomic")
# QEMU has names of its own for some processors.
set(emulator ${CMAKE_SYSTEM_PROCESSOR})
string(REGEX REPLACE "^i[3-6]86$" i386 emulator ${emulator})
string(REGEX REPLACE "^powerpc64" ppc64 emulator ${emulator})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${emulator}-static -L /usr/${LIDO_TRIPLE})
if(emulator STREQUAL "i386")
  # Most x86-64 systems run these programs themselves, with the cross compiler's loader and C library.
  set(loader /usr/${LIDO_TRIPLE}/lib/ld-linux.so.2)
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--dynamic-linker=${loader},-rpath=/usr/${LIDO_TRIPLE}/lib")
  execute_process(COMMAND ${loader} --version RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(result EQUAL 0)
    unset(CMAKE_CROSSCOMPILING_EMULATOR)
  endif()
endif()

# Boost's headers are the same for all processors, so those of the host do. Libraries must not be the host's.
set(CMAKE_FIND_ROOT_PATH /usr/${LIDO_TRIPLE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
