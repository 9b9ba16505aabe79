// The interpretation of nodes' answers by the client of Redis Cluster, also of odd ones.
#include <gtest/gtest.h>

#include "redis_cluster.hpp"

namespace {

TEST(ClusterMap, AHostThatIsLeftOutIsThatOfTheNodeWhichAnswers) {
  EXPECT_EQ(full_name(":7001", "10.0.0.1:7000"), "10.0.0.1:7001");
  EXPECT_EQ(full_name(":7001", "fe80::1:7000"), "fe80::1:7001");
  EXPECT_EQ(full_name("10.0.0.2:7001", "10.0.0.1:7000"), "10.0.0.2:7001");
  EXPECT_EQ(full_name("", "10.0.0.1:7000"), "");
}

TEST(ClusterMap, ReadsWhichNodeHasWhichSlot) {
  cluster_map map;
  EXPECT_TRUE(
      map.read("a :7000@17000 myself,master - 0 0 1 connected 0-9 11 [12->-b]\n"
               "b 10.0.0.2:7001@17001,name master - 0 0 2 connected 10 12-16383\n"
               "c 10.0.0.3:7002@17002 slave,fail b 0 0 2 connected\n",
               "10.0.0.1:7000"));
  EXPECT_EQ(map.owners[9], "10.0.0.1:7000");
  EXPECT_EQ(map.owners[10], "10.0.0.2:7001");
  EXPECT_EQ(map.owners[11], "10.0.0.1:7000");
  EXPECT_EQ(map.members, (std::vector<std::string>{"10.0.0.1:7000", "10.0.0.2:7001"}));
}

TEST(ClusterMap, WhatCannotBeReadIsNoMap) {
  for (const char* text : {
           "",
           "NOAUTH Authentication required.",
           "a :7000@17000 myself,master - 0 0 1 connected all",
           "a :7000@17000 myself,master - 0 0 1 connected 0-",
           "a :7000@17000 myself,master - 0 0 1 connected 0-99999999999999999999999",
           "a :7000@17000 myself,master - 0 0 1 connected",
       }) {
    cluster_map map;
    EXPECT_FALSE(map.read(text, "10.0.0.1:7000")) << text;
  }
}

}  // namespace
