# Finds the peers. Each becomes a target bench_peer_<name>, or is reported as absent.
# Debian's packages support CMake, pkg-config or neither; each way is tried.

find_package(PkgConfig QUIET)

# bench_peer_headers(<name> <header> [<library>...]): a peer without package files.
function(bench_peer_headers name header)
  find_path(LIDO_BENCH_${name}_INCLUDE ${header})
  mark_as_advanced(LIDO_BENCH_${name}_INCLUDE)
  if(NOT LIDO_BENCH_${name}_INCLUDE)
    return()
  endif()
  set(libraries "")
  foreach(library IN LISTS ARGN)
    find_library(LIDO_BENCH_LIB_${library} ${library})
    mark_as_advanced(LIDO_BENCH_LIB_${library})
    if(NOT LIDO_BENCH_LIB_${library})
      return()
    endif()
    list(APPEND libraries ${LIDO_BENCH_LIB_${library}})
  endforeach()
  add_library(bench_peer_${name} INTERFACE)
  target_include_directories(bench_peer_${name} SYSTEM INTERFACE ${LIDO_BENCH_${name}_INCLUDE})
  target_link_libraries(bench_peer_${name} INTERFACE ${libraries})
endfunction()

# bench_peer_package(<name> <package> <target>): a peer with a CMake package.
function(bench_peer_package name package target)
  if(NOT TARGET ${target})
    find_package(${package} QUIET CONFIG)
  endif()
  if(TARGET ${target})
    add_library(bench_peer_${name} INTERFACE)
    target_link_libraries(bench_peer_${name} INTERFACE ${target})
  endif()
endfunction()

# bench_peer_renamed(<name> <archive> <prefix>): a malloc that must not replace the C library's.
# Its static library is copied with every symbol of the C library's interface renamed.
function(bench_peer_renamed name archive prefix)
  find_library(LIDO_BENCH_ARCHIVE_${name} ${archive})
  mark_as_advanced(LIDO_BENCH_ARCHIVE_${name})
  if(NOT LIDO_BENCH_ARCHIVE_${name} OR NOT CMAKE_OBJCOPY)
    return()
  endif()
  set(renames "")
  foreach(symbol IN ITEMS
      malloc calloc realloc free cfree memalign posix_memalign aligned_alloc valloc pvalloc
      malloc_usable_size malloc_stats malloc_size mallinfo mallinfo2 mallopt
      __libc_malloc __libc_calloc __libc_realloc __libc_free __libc_cfree __libc_memalign
      __libc_valloc __libc_pvalloc __posix_memalign nallocx)
    string(APPEND renames "${symbol} ${prefix}${symbol}\n")
  endforeach()
  # operator new and delete in all their forms: plain, array, sized, aligned, nothrow
  foreach(kind IN ITEMS nwm nam dlPv daPv dlPvm daPvm)
    foreach(align IN ITEMS "" St11align_val_t)
      foreach(nothrow IN ITEMS "" RKSt9nothrow_t)
        string(APPEND renames "_Z${kind}${align}${nothrow} ${prefix}Z${kind}${align}${nothrow}\n")
      endforeach()
    endforeach()
  endforeach()
  set(list_file ${CMAKE_CURRENT_BINARY_DIR}/${name}.symbols)
  set(copy ${CMAKE_CURRENT_BINARY_DIR}/lib${name}_renamed.a)
  file(CONFIGURE OUTPUT ${list_file} CONTENT "${renames}" @ONLY)
  add_custom_command(
    OUTPUT ${copy}
    COMMAND ${CMAKE_OBJCOPY} --redefine-syms=${list_file} ${LIDO_BENCH_ARCHIVE_${name}} ${copy}
    DEPENDS ${LIDO_BENCH_ARCHIVE_${name}} ${list_file}
    VERBATIM)
  add_custom_target(bench_${name}_renamed DEPENDS ${copy})
  add_library(bench_peer_${name} INTERFACE)
  target_link_libraries(bench_peer_${name} INTERFACE ${copy})
  add_dependencies(bench_peer_${name} bench_${name}_renamed)
endfunction()

# DPDK's static libraries: its shared ones load a hundred drivers at start-up.
function(bench_peer_dpdk)
  if(NOT PkgConfig_FOUND)
    return()
  endif()
  pkg_check_modules(LIDO_BENCH_DPDK QUIET libdpdk)
  if(NOT LIDO_BENCH_DPDK_FOUND)
    return()
  endif()
  set(libraries "")
  foreach(library IN ITEMS
      librte_mempool_ring.a librte_mempool.a librte_ring.a librte_eal.a librte_telemetry.a
      librte_kvargs.a numa bsd)
    find_library(LIDO_BENCH_LIB_${library} ${library})
    mark_as_advanced(LIDO_BENCH_LIB_${library})
    if(NOT LIDO_BENCH_LIB_${library})
      return()
    endif()
    list(APPEND libraries ${LIDO_BENCH_LIB_${library}})
  endforeach()
  # The ring registers itself as a mempool's store in a constructor. No symbol refers to it, so the archive is linked
  # whole.
  list(POP_FRONT libraries ring)
  add_library(bench_peer_dpdk INTERFACE)
  target_include_directories(bench_peer_dpdk SYSTEM INTERFACE ${LIDO_BENCH_DPDK_INCLUDE_DIRS})
  target_compile_options(bench_peer_dpdk INTERFACE ${LIDO_BENCH_DPDK_CFLAGS_OTHER})
  target_link_libraries(bench_peer_dpdk
    INTERFACE $<LINK_LIBRARY:WHOLE_ARCHIVE,${ring}> ${libraries} ${CMAKE_DL_LIBS})
endfunction()

# mimalloc is loaded at run time, see contenders/mimalloc.hpp.
function(bench_peer_mimalloc)
  find_path(LIDO_BENCH_mimalloc_INCLUDE mimalloc.h)
  find_library(LIDO_BENCH_LIB_mimalloc mimalloc)
  mark_as_advanced(LIDO_BENCH_mimalloc_INCLUDE LIDO_BENCH_LIB_mimalloc)
  if(LIDO_BENCH_mimalloc_INCLUDE AND LIDO_BENCH_LIB_mimalloc)
    add_library(bench_peer_mimalloc INTERFACE)
    target_include_directories(bench_peer_mimalloc SYSTEM INTERFACE ${LIDO_BENCH_mimalloc_INCLUDE})
    target_compile_definitions(bench_peer_mimalloc
      INTERFACE LIDO_BENCH_MIMALLOC="${LIDO_BENCH_LIB_mimalloc}")
    target_link_libraries(bench_peer_mimalloc INTERFACE ${CMAKE_DL_LIBS})
  endif()
endfunction()

bench_peer_mimalloc()
bench_peer_renamed(jemalloc libjemalloc.a lido_bench_je_)
bench_peer_renamed(tcmalloc libtcmalloc_minimal.a lido_bench_tc_)
bench_peer_package(tbb TBB TBB::tbb)
bench_peer_package(tbbmalloc TBB TBB::tbbmalloc)
bench_peer_package(foonathan foonathan_memory foonathan_memory)
bench_peer_headers(lockfree boost/lockfree/stack.hpp)
bench_peer_headers(boost_pool boost/pool/pool.hpp)
bench_peer_headers(moodycamel concurrentqueue/concurrentqueue.h)
bench_peer_headers(atomic_queue atomic_queue/atomic_queue.h)
bench_peer_headers(xenium xenium/vyukov_bounded_queue.hpp)
bench_peer_headers(libcds cds/intrusive/free_list_cached.h cds)
bench_peer_headers(ck ck_stack.h ck)
bench_peer_dpdk()
if(TARGET bench_peer_libcds)
  # See contenders/libcds_free_list.hpp.
  target_compile_options(bench_peer_libcds INTERFACE -mcx16)
  target_compile_definitions(bench_peer_libcds INTERFACE NDEBUG)
  target_link_libraries(bench_peer_libcds INTERFACE atomic)  # the compiler's, not in a search path
endif()
