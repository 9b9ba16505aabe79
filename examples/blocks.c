// Blocks of one size in C.
#include <lido/lido.h>
#include <stdio.h>

struct packet {
  struct packet* next;
  char text[56];
};

int main(void) {
  // [snippet]
  const lido_pool_options options = {.size = sizeof(options),
                                     .block_bytes = sizeof(struct packet),
                                     .blocks = 1000,
                                     .name = "packets"};
  lido_pool* pool = NULL;
  const int error = lido_pool_create(&options, &pool);
  if (error != LIDO_OK) {
    printf("no pool: %s\n", lido_error_text(error));
    return 1;
  }
  struct packet* const one = lido_pool_acquire(pool);  // any thread; NULL: all are in use
  // [/snippet]
  (void)snprintf(one->text, sizeof(one->text), "%zu of %zu blocks in use", lido_pool_in_use(pool),
                 lido_pool_capacity(pool));
  puts(one->text);
  // [snippet end]
  lido_pool_release(pool, one);  // any thread
  lido_pool_destroy(pool);
  // [/snippet]
  return 0;
}

// Prints:
//   1 of 1000 blocks in use
