/* The C interface in C99, as a program: `program`, or `program MISTAKE`, which a report is to end.
 */
#include <lido/lido.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(_WIN32)
#include <pthread.h>
#endif

enum { block_count = 300, round_count = 2000, held_count = 40 };

static void check(int right, const char* what) {
  if (!right) {
    (void)fprintf(stderr, "BROKEN: %s\n", what);
    abort();
  }
}

static lido_pool* create(size_t block_bytes, size_t flags) {
  const lido_pool_options options = {.size = sizeof(options),
                                     .block_bytes = block_bytes,
                                     .blocks = block_count,
                                     .name = "packets",
                                     .flags = flags};
  lido_pool* pool = NULL;
  const int error = lido_pool_create(&options, &pool);
  check(error == LIDO_OK, lido_error_text(error));
  return pool;
}

/* Writes to each block what no other thread writes. */
static void* use_blocks(void* shared) {
  lido_pool* const pool = shared;
  int mine = 0;
  void* held[held_count];
  for (int round = 0; round < round_count; ++round) {
    for (int i = 0; i < held_count; ++i) {
      held[i] = lido_pool_acquire(pool);
      check(held[i] != NULL, "a block is free, and none was found");
      memcpy(held[i], &(void*){&mine}, sizeof(void*));
    }
    for (int i = 0; i < held_count; ++i) {
      check(memcmp(held[i], &(void*){&mine}, sizeof(void*)) == 0, "a block has two owners");
      check(lido_pool_release(pool, held[i]) == LIDO_OK, "a release is refused");
    }
  }
  return NULL;
}

static void use_by_threads(lido_pool* pool) {
#if defined(_WIN32)
  use_blocks(pool);
#else
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    check(pthread_create(&threads[i], NULL, use_blocks, pool) == 0, "there is no thread");
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], NULL);
  }
#endif
}

/* All blocks, also those that threads have had in their caches. */
static void use_all(lido_pool* pool) {
  static void* held[block_count];
  for (int i = 0; i < block_count; ++i) {
    held[i] = lido_pool_acquire(pool);
    check(held[i] != NULL, "fewer blocks than the pool has");
  }
  check(lido_pool_acquire(pool) == NULL, "more blocks than the pool has");
  check(lido_pool_in_use(pool) == block_count, "in_use when all are");
  for (int i = 0; i < block_count; ++i) {
    check(lido_pool_release(pool, held[i]) == LIDO_OK, "a release is refused");
  }
  check(lido_pool_in_use(pool) == 0, "in_use when none is");
  check(lido_pool_capacity(pool) == block_count, "capacity");
}

static int make_mistake(const char* mistake) {
  const size_t flags = strcmp(mistake, "checked_double_release") == 0 ? LIDO_POOL_CHECKED : 0;
  lido_pool* const pool = create(64, flags);
  char* const block = lido_pool_acquire(pool);
  lido_pool_release(pool, block);
  if (strcmp(mistake, "late_write") == 0) {
    block[5] = 'x';
  } else {
    lido_pool_release(pool, block);
  }
  puts("nothing noticed");
  return 0;
}

int main(int count, char** arguments) {
  lido_pool* nothing = NULL;
  if (count > 1) {
    return make_mistake(arguments[1]);
  }
  check(lido_version() == LIDO_VERSION, "the library is of another version");
  check(lido_pool_create(&(lido_pool_options){.size = sizeof(lido_pool_options), .blocks = 1},
                         &nothing) == LIDO_ERROR_BLOCK_BYTES,
        "blocks of no bytes");
  check(nothing == NULL, "a pool that was refused");
  lido_pool* const pool = create(sizeof(void*), 0);
  use_by_threads(pool);
  use_all(pool);
  check(lido_pool_destroy(pool) == LIDO_OK, "destroy");
  puts("all is well");
  return 0;
}
