#include "lido/concurrent_slot_map.hpp"

struct hooks {
  void on_erase(int& value, lido::slot_handle<int> handle);
};
lido::concurrent_slot_map<int, hooks> map(4);
