# For a library that a project may want shared.
function(lido_shareable target)
  # Before 1.0 a minor version may break its users, so each is another library to the linker.
  set(interface ${PROJECT_VERSION_MAJOR})
  if(interface EQUAL 0)
    string(APPEND interface .${PROJECT_VERSION_MINOR})
  endif()
  set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${interface})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    # The project around it may hide what is not marked, and nothing here is.
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
  endif()
endfunction()

# What a copy of the library asks of whoever links it.
function(lido_linkage target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "SHARED_LIBRARY")
    target_compile_definitions(${target} PUBLIC LIDO_SHARED)
  endif()
  # Threads that end after a shared object was closed still run the library's code.
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(${target} PUBLIC LINKER:-z,nodelete)
  endif()
endfunction()
