#include "lido/slot_map.hpp"

struct pinned {
  pinned() = default;
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
};
lido::slot_map<pinned> map;
