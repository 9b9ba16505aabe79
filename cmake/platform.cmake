# lido_platform_sources(<variable> <platform>): the sources of a back end, below src and without their endings. A system
# that is a Unix shares with others what is the same there.
function(lido_platform_sources variable platform)
  set(sources copies memory reports threads waiting)
  if(platform MATCHES "^(linux|posix)$")
    set(shared copies memory reports sanitizers threads)
    set(sources memory reports waiting)
    list(TRANSFORM shared PREPEND platform/unix/)
  endif()
  list(TRANSFORM sources PREPEND platform/${platform}/)
  list(APPEND sources ${shared})
  if(EMSCRIPTEN AND platform STREQUAL posix) # mmap is malloc there, and gives nothing back
    list(REMOVE_ITEM sources platform/posix/memory platform/unix/memory platform/unix/sanitizers)
    list(APPEND sources platform/generic/memory)
  endif()
  list(SORT sources)
  set(${variable} platform/static_mutex ${sources} PARENT_SCOPE)
endfunction()
