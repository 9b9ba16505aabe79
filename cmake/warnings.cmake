# Warnings for Lido's own targets only; a consumer never inherits them.
function(lido_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow)
  if(LIDO_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
