#include "lido/concurrent_slot_map.hpp"
#include "lido/object_pool.hpp"
#include "lido/slot_map.hpp"

struct fewer {
  int id;
  float data[13];
};

void fewer_arguments_than_members(lido::object_pool<fewer>& pool, lido::slot_map<fewer>& map,
                                  lido::concurrent_slot_map<fewer>& shared) {
  (void)pool.try_acquire(1);
  (void)map.emplace_at(map.try_emplace(1), 2);
  (void)shared.try_emplace(1);
}
