// The clients of Redis Cluster and Sentinel beside servers with odd answers.
#include <gtest/gtest.h>

#include "redis_cluster.hpp"
#include "redis_sentinel.hpp"
#include "servers/redis_groups.hpp"

namespace {

using namespace std::chrono_literals;

class RedisClients : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!servers::redis::program()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
  }
  static std::string address(const servers::redis& server) {
    return "127.0.0.1:" + std::to_string(server.port());
  }
};

// A node that has met no other node does not know its own host, and names none.
TEST_F(RedisClients, ANodeThatNamesNoHostIsOnThatOfTheAnswer) {
  const servers::redis node(servers::redis::role::node);
  (void)servers::ask_redis(node.port(), {"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  cluster_client client(address(node), servers::password);
  EXPECT_EQ(client.masters(), std::set<std::string>{address(node)});
  EXPECT_EQ(client.ask("one", {"SET", "one", "1"}).text, "OK");
  std::this_thread::sleep_for(100ms);  // the map is read again
  EXPECT_EQ(client.masters(), std::set<std::string>{address(node)});
}

TEST_F(RedisClients, AServerOfNoClusterHasNoMap) {
  const servers::redis server;
  EXPECT_THROW(cluster_client(address(server), servers::password), std::runtime_error);
}

// It is no sentinel, and reports so by an error.
TEST_F(RedisClients, AnErrorIsNotTheAddressOfAMaster) {
  const servers::redis server;
  const sentinel_factory factory(
      {.sentinels = {{.port = server.port(), .password = servers::password}},
       .name = "orders",
       .master = {}});
  EXPECT_THROW((void)factory.where_is_master({std::chrono::steady_clock::now() + 10s, {}}),
               std::runtime_error);
}

}  // namespace
