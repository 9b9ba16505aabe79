#include <algorithm>
#include <vector>

#include "scenarios/scenario.hpp"

namespace model {

std::span<const scenario> all_scenarios() {
  static const std::vector<scenario> all = [] {
    std::vector<scenario> list;
    for (const auto part : {rendezvous_scenarios(),   numbers_scenarios(),
                            freelist_scenarios(),     slot_cache_scenarios(),
                            allocator_scenarios(),    exhaustion_scenarios(),
                            evasion_scenarios(),      shards_scenarios(),
                            remembered_scenarios(),   lifetime_scenarios(),
                            kept_scenarios(),         checked_scenarios(),
                            waiting_scenarios(),      waiting_for_loot_scenarios(),
                            first_use_scenarios(),    growth_scenarios(),
                            visits_scenarios(),       slot_state_scenarios(),
                            walk_block_scenarios(),   pool_parts_scenarios(),
                            pool_core_scenarios(),    pool_waits_scenarios(),
                            pool_threads_scenarios(), waiting_callbacks_scenarios(),
                            restarts_scenarios()}) {
      list.insert(list.end(), part.begin(), part.end());
    }
    return list;
  }();
  return all;
}

const scenario* find_scenario(std::string_view name) {
  const auto all = all_scenarios();
  const auto found =
      std::find_if(all.begin(), all.end(), [name](const scenario& s) { return s.name == name; });
  return found != all.end() ? &*found : nullptr;
}

}  // namespace model
