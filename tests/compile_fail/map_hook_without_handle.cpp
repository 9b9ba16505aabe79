#include "lido/slot_map.hpp"

struct hooks {
  void on_insert(int& value);
};
lido::slot_map<int, hooks> map;
