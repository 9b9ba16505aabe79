#include "lido/concurrent_slot_map.hpp"

struct texture {
  explicit texture(int number);
};

void shared_value_without_arguments(lido::concurrent_slot_map<texture>& textures) {
  (void)textures.try_emplace();
}
