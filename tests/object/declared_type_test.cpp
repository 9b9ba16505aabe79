// Pools and maps as members of a class that only declares their element types.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "lido/checked.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/object_pool.hpp"
#include "lido/slot_map.hpp"

namespace lido {
namespace {

struct creature;

struct kept : pool_traits<creature> {
  using hooks = keep;
};

struct world {
  world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world();

  object_pool<creature> made;
  object_pool<creature, kept> reused;
  object_pool<creature, checked_traits<creature>> checked;
  std::unique_ptr<object_pool<creature>> elsewhere;
  std::vector<lease<creature>> held;
  slot_map<creature> values;
  concurrent_slot_map<creature> shared;
  slot_handle<creature> best;
};

struct creature {
  int number = 0;
  slot_handle<creature> next = {};
};

world::world() : made(4), reused(4), checked(4), shared(4) {}
world::~world() = default;

TEST(DeclaredType, MayBeThatOfAMember) {
  world all;
  all.held.push_back(all.made.acquire(1));
  EXPECT_EQ(all.held.front()->number, 1);
  EXPECT_EQ(all.reused.acquire()->number, 0);
  EXPECT_EQ(all.checked.acquire(2)->number, 2);
  all.best = all.values.emplace(3);
  EXPECT_EQ(all.values[all.best].number, 3);
  EXPECT_TRUE(all.shared.contains(all.shared.emplace(4)));
}

}  // namespace
}  // namespace lido
