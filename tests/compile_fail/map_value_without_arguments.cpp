#include "lido/slot_map.hpp"

struct texture {
  explicit texture(int number);
};

void map_value_without_arguments(lido::slot_map<texture>& textures) {
  (void)textures.try_emplace();
}
