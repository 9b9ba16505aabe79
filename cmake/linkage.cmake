set(lido_shared_state ${CMAKE_CURRENT_LIST_DIR}/shared_state.list)

# For a library that a project may want shared.
function(lido_shareable target)
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${LIDO_ABI_VERSION})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    # The project around it may hide what is not marked, and nothing here is.
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
    # On Windows no function is marked for export either: all are, and headers import the few variables.
    set_target_properties(${target} PROPERTIES WINDOWS_EXPORT_ALL_SYMBOLS ON)
    # Inline functions and type information are in the library's users, too. A module whose copies the library took
    # could not be unloaded, so the library takes its own. Only the state of threads is where the loader finds it first,
    # as in a static copy.
    if(CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
      target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
      target_link_options(${target} PRIVATE LINKER:--dynamic-list=${lido_shared_state})
    endif()
  endif()
endfunction()

# What a copy of the library asks of the targets that link it.
function(lido_linkage target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    target_compile_definitions(${target} PUBLIC LIDO_SHARED)
    set_target_properties(${target} PROPERTIES DEFINE_SYMBOL LIDO_BUILDING)
  endif()
  # Threads that end later still run the library's code. So the object that contains it is never unloaded: the shared
  # library itself, or every object that a static one is linked into.
  if(CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF" AND type STREQUAL "SHARED_LIBRARY")
    target_link_options(${target} PRIVATE LINKER:-z,nodelete)
  elseif(CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
    target_link_options(${target} PUBLIC LINKER:-z,nodelete)
  endif()
endfunction()
