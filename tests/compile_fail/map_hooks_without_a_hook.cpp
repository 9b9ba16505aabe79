#include "lido/slot_map.hpp"

struct hooks {
  void on_create(int& value, lido::slot_handle<int> handle);
};
lido::slot_map<int, hooks> map;
