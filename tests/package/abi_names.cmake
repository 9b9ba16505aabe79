# Every name of namespace lido that a linker sees in the library is in the namespace of the ABI. Names outside of lido, such
# as those of C, are not looked at.
# usage: cmake -DNM=... -DLIBRARY=... -DABI=... -P abi_names.cmake
execute_process(COMMAND ${NM} --demangle --defined-only --extern-only ${LIBRARY} OUTPUT_VARIABLE names COMMAND_ERROR_IS_FATAL ANY)
if(NOT names MATCHES " lido::v${ABI}::detail::slot_allocator::")
  message(FATAL_ERROR "${LIBRARY} has no names of lido::v${ABI}")
endif()
string(REPLACE "lido::v${ABI}::" "" names "${names}")
if(names MATCHES "[^\n]*[^A-Za-z0-9_]lido::[^\n]*")
  message(FATAL_ERROR "a name outside of lido::v${ABI}: ${CMAKE_MATCH_0}")
endif()
