// Units of a game. Some of them burn: a secondary map stores their fires.
#include <exception>
#include <iostream>
#include <lido/slot_map.hpp>

struct unit {
  int health = 100;
};

struct fire {
  int damage = 0;
  int turns_left = 0;
};

int main() try {
  lido::slot_map<unit> units;
  lido::secondary_map<unit, fire> fires;
  for (int i = 0; i < 1000; ++i) {
    const auto made = units.emplace();
    if (i % 250 == 0) {
      fires.emplace(made, 60, 3);
    }
  }
  units.erase(fires.handles()[2]);  // a unit that burns leaves the game
  for (int turn = 0; turn < 3; ++turn) {
    // [snippet]
    fires.erase_stale(units);  // fires whose unit is gone
    fires.for_each([&](fire& each, lido::slot_handle<unit> burning) {
      units[burning].health -= each.damage;  // for each entry, a look-up in the slot map
      return --each.turns_left == 0 ? lido::step::erase : lido::step::next;
    });
    int damage = 0;
    for (const fire& each : fires.values()) {  // all values, without their handles
      damage += each.damage;
    }
    // [/snippet]
    units.erase_if([](const unit& each) { return each.health <= 0; });
    std::cout << units.size() << " units, damage " << damage << '\n';
  }
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   999 units, damage 180
//   996 units, damage 180
//   996 units, damage 0
