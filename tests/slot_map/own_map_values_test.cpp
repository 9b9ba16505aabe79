// Values that refer to their map, so that its type is named before theirs is complete.
#include <gtest/gtest.h>

#include <utility>

#include "lido/concurrent_slot_map.hpp"
#include "lido/slot_map.hpp"

namespace lido {
namespace {

TEST(SlotMapTypes, AValueMayPointAtAnotherOneOfItsMap) {
  struct enemy {
    slot_pointer<slot_map<enemy>> target;
    int hp = 0;
  };
  slot_map<enemy> enemies({.compaction = compaction_mode::immediate});
  const auto gone = enemies.emplace();
  const auto hunted = enemies.emplace();
  const auto hunter = enemies.emplace(enemies.pointer(hunted), 3);
  enemies.erase(gone);  // another value moves there
  for (int i = 0; i < 100; ++i) {
    (void)enemies.emplace();
  }
  enemies[hunter].target->hp = 7;
  EXPECT_EQ(enemies[hunted].hp, 7);
  enemies.erase(hunted);
  EXPECT_FALSE(enemies[hunter].target);
}

TEST(SlotMapTypes, AValueMayHaveWhatMapsOfItsTypeGive) {
  struct link {
    slot_map<link>::handle_type next;
    slot_map<link>::pointer_type previous;
    slot_map<link>::const_iterator third;
    concurrent_slot_map<link>::handle_type elsewhere;
    concurrent_slot_map<link>* where = nullptr;
  };
  slot_map<link> chain;
  concurrent_slot_map<link> shared(2);
  const auto first = chain.emplace();
  const auto second = chain.emplace();
  chain[first].next = second;
  chain[second].previous = chain.pointer(first);
  chain[second].where = &shared;
  chain[second].elsewhere = shared.emplace();
  EXPECT_EQ(chain[second].previous->next, second);
  EXPECT_TRUE(chain[second].where->contains(chain[second].elsewhere));
}

TEST(SlotMapTypes, AValueMayHaveAMapOfItsKind) {
  struct node {
    slot_map<node> kids;
    int name = 0;
  };
  node root;
  const auto kid = root.kids.emplace();
  const auto grandchild = root.kids[kid].kids.emplace();
  root.kids[kid].kids[grandchild].name = 3;
  for (int i = 0; i < 100; ++i) {
    (void)root.kids.emplace();
  }
  const node moved(std::move(root));
  EXPECT_EQ(moved.kids[kid].kids[grandchild].name, 3);
}

/// Declared for hooks before its members are known.
struct told_of;
struct parted_hooks {
  int erased = 0;
  void on_erase(const told_of& value, slot_handle<told_of> handle) noexcept;
};
struct told_of {
  slot_pointer<slot_map<told_of, parted_hooks>> other;
  int number = 0;
};
void parted_hooks::on_erase(const told_of& value, slot_handle<told_of> /*handle*/) noexcept {
  erased += value.number;
}

TEST(SlotMapTypes, AValueThatPointsIntoItsMapMayHaveHooks) {
  slot_map<told_of, parted_hooks> map;
  const auto one = map.emplace();
  map.erase(map.emplace(map.pointer(one), 4));
  EXPECT_EQ(map.hooks().erased, 4);
}

}  // namespace
}  // namespace lido
