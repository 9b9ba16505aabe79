# Unpacks the inputs of a fuzz target when CMake configures, and again when the archive changes. The archive contains one
# folder with the target's name. An archive without inputs is an error, since an empty replay proves nothing.
#
# To add an input, copy it into the unpacked folder and pack that; the same inputs always make the same archive:
#   tar --sort=name --format=ustar --mtime=@0 --mode=u=rwX,go=rX --owner=0 --group=0 --numeric-owner -I 'gzip -9n' \
#     -C build/gcc/stress/fuzz/corpus -cf stress/fuzz/corpus/pool_operations.tar.gz pool_operations
function(lido_unpack_corpus archive folder)
  file(REMOVE_RECURSE ${folder}) # an input removed from the archive must not remain
  get_filename_component(above ${folder} DIRECTORY)
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${above})
  file(GLOB inputs ${folder}/*)
  if(NOT inputs)
    message(FATAL_ERROR "lido: ${archive} holds no input for ${folder}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
endfunction()
