# Read by cpack before it installs anything for a package.
if(CPACK_GENERATOR STREQUAL "DEB")
  if(CPACK_LIDO_REFUSAL)
    message(FATAL_ERROR "lido: ${CPACK_LIDO_REFUSAL}")
  endif()
  set(CPACK_STRIP_FILES ON)
endif()
