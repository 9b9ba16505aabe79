/// @file
/// Internal. A Redis server for the tests of a suite, and pools of connections to it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "lido/hiredis.hpp"
#include "servers/known_servers.hpp"

namespace lido {

using redis_pool = resource_pool<redis_connection>;

/// Runs one server for all tests of a suite.
class redis_fixture : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (servers::redis::program()) {
      server().emplace();
    }
  }
  static void TearDownTestSuite() { server().reset(); }
  void SetUp() override {
    if (!server()) {
      GTEST_SKIP() << "redis-server is not installed";
    }
  }

  static std::optional<servers::redis>& server() {
    static std::optional<servers::redis> shared;
    return shared;
  }
  static redis_target target() {
    return {.port = server()->port(),
            .password = servers::password,
            .command_timeout = std::chrono::seconds(2)};
  }
  static redis_pool make(resource_pool_options options) {
    options.max_size = 1;
    return redis_pool(redis_factory(target()), options);
  }
  /// Returns a connection outside any pool.
  static redis_connection connect_beside() {
    return redis_factory(target()).create(
        {std::chrono::steady_clock::now() + std::chrono::seconds(20), {}});
  }

  /// A user without a password. Deleted at the end, since the server also serves other tests.
  class passing_user {
   public:
    passing_user(std::string name, const std::string& rights) : name_(std::move(name)) {
      EXPECT_EQ(admin_.ask("ACL SETUSER " + name_ + " on nopass " + rights).text, "OK");
    }
    passing_user(const passing_user&) = delete;
    passing_user& operator=(const passing_user&) = delete;
    ~passing_user() { EXPECT_EQ(admin_.ask("ACL DELUSER " + name_).text, "1"); }

   private:
    redis_connection admin_ = connect_beside();
    std::string name_;
  };
};

}  // namespace lido
