/// @file
/// Public. `lido_pool`: blocks of one size, in C99 and without C++ types.
#pragma once

#include <stddef.h>  // NOLINT(*-deprecated-headers): C has no other

// NOLINTBEGIN(readability-identifier-naming,modernize-use-using): as in C

/// A pool of blocks of one size. Each block is in use or free. All threads share one list of free
/// blocks, and each thread has its own cache in front of that list.
///
/// All functions are thread-safe, except that no other thread may use a pool while it is being
/// created or destroyed. Any thread may release a block, not only the one that acquired it. No
/// function throws a C++ exception.
typedef struct lido_pool lido_pool;

/// Results of functions. The values of these constants never change. `lido_error_text` describes
/// them.
enum {
  LIDO_OK = 0,
  LIDO_ERROR_NULL = 1,  ///< a required pointer is null
  /// `size` matches no version, or this library does not know a flag or a later member
  LIDO_ERROR_OPTIONS = 2,
  LIDO_ERROR_BLOCK_BYTES = 3,  ///< `block_bytes` is 0
  LIDO_ERROR_ALIGNMENT = 4,    ///< `alignment` is not a power of two, or is more than 4096
  LIDO_ERROR_BLOCKS = 5,       ///< `blocks` is 0, or more than 2^32 - 2
  LIDO_ERROR_NO_MEMORY = 6,    ///< memory ran out, or the request exceeds the address space
  /// the address is outside the pool; a checked pool reports any block that is not in use
  LIDO_ERROR_NOT_IN_USE = 7
};

/// A flag for `flags`. The pool reports misuse as checked pools in C++ do: a double release, the
/// release of a foreign block, a write after release, or a leak. The report ends the program.
/// Operations are slow.
#define LIDO_POOL_CHECKED 1U

/// Options of a pool. A member that is zero selects its default, so zero-initialize the struct.
/// Later versions add members at the end, and learn from `size` which members the caller knows.
typedef struct lido_pool_options {
  size_t size;         ///< sizeof(lido_pool_options)
  size_t block_bytes;  ///< bytes of a block, at least 1
  size_t blocks;       ///< number of blocks, 1 to 2^32 - 2
  size_t alignment;    ///< alignment of every block, a power of two up to 4096; 0: as malloc aligns
  const char* name;    ///< name of the pool, copied; appears in reports; null: "unnamed"
  size_t flags;        ///< LIDO_POOL_CHECKED, or 0
} lido_pool_options;

#if defined(__cplusplus)
extern "C" {
#endif

/// Creates a pool. Returns LIDO_OK, or returns an error and sets `*pool` to null. The memory of the
/// blocks is reserved, but not touched. Blocking.
int lido_pool_create(const lido_pool_options* options, lido_pool** pool);

/// Frees the pool with all its blocks, including blocks in use. A checked pool reports blocks in
/// use and ends the program. Returns LIDO_ERROR_NULL for null, otherwise LIDO_OK. Requires: no
/// other thread is in a call, and no block is used or released afterwards. Blocking.
int lido_pool_destroy(lido_pool* pool);

/// Returns an uninitialized block, or null if all blocks are in use or `pool` is null. "All blocks
/// are in use" is exact: free blocks in the caches of other threads are found first. Progress:
/// wait-free if the thread's cache has a block, else lock-free except for calls of calloc when a
/// cache grows.
void* lido_pool_acquire(lido_pool* pool);

/// Releases a block; a null `block` has no effect. Returns LIDO_OK, LIDO_ERROR_NULL if `pool` is
/// null, or LIDO_ERROR_NOT_IN_USE if the address is outside the pool. A call that returns an error
/// has no effect. Progress: wait-free if the thread's cache is not full, else lock-free. Allocates
/// nothing. Requires: an address within the pool is that of a block in use. A checked pool and
/// AddressSanitizer report other addresses within the pool.
int lido_pool_release(lido_pool* pool, void* block);

/// Returns the number of blocks in use, 0 to `lido_pool_capacity`; exact when no other thread is in
/// a call. Returns 0 when `pool` is null. Wait-free.
size_t lido_pool_in_use(const lido_pool* pool);

/// Returns the number of blocks in the pool; 0 when `pool` is null. Wait-free.
size_t lido_pool_capacity(const lido_pool* pool);

/// Returns a description of a result, in English and without a newline; never null. The text lives
/// as long as the program.
const char* lido_error_text(int error);

/// Returns LIDO_VERSION of the library, which may be newer than the version of the header.
int lido_version(void);

#if defined(__cplusplus)
}
#endif

// NOLINTEND(readability-identifier-naming,modernize-use-using)
