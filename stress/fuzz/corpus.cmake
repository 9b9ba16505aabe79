# Unpacks the inputs of a fuzz target when CMake configures, and again when the archive changes. The archive holds one
# folder with the target's name. One without an input is an error, since a replay of nothing proves nothing.
#
# To add an input, copy it into the unpacked folder and pack that; the same inputs always make the same archive:
#   tar --sort=name --format=ustar --mtime=@0 --mode=u=rwX,go=rX --owner=0 --group=0 --numeric-owner -I 'gzip -9n' \
#     -C build/gcc/stress/fuzz/corpus -cf stress/fuzz/corpus/pool_operations.tar.gz pool_operations
function(lido_unpack_corpus archive folder)
  file(REMOVE_RECURSE ${folder}) # an input that has left the archive must not stay
  get_filename_component(above ${folder} DIRECTORY)
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${above})
  file(GLOB inputs ${folder}/*)
  if(NOT inputs)
    message(FATAL_ERROR "lido: ${archive} holds no input for ${folder}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
endfunction()
