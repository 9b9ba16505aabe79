// Connections to a Redis that accepts only TLS, through a stunnel on this machine.
#include <csignal>
#include <stdexcept>

#include "connect/redis_fixture.hpp"
#include "support/settled.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

class RedisTls : public ::testing::Test {
 protected:
  struct machine {
    servers::certificates tls;
    servers::redis redis{tls};
    servers::tls_proxy proxy{redis.port(), tls.authority()};
  };

  static void SetUpTestSuite() {
    if (servers::redis::program() && servers::certificates::program() &&
        servers::tls_proxy::program()) {
      here().emplace();
    }
  }
  static void TearDownTestSuite() { here().reset(); }
  void SetUp() override {
    if (!here()) {
      GTEST_SKIP() << "redis-server, openssl or stunnel4 is not installed";
    }
  }

  static std::optional<machine>& here() {
    static std::optional<machine> shared;
    return shared;
  }
  static redis_factory behind(const servers::tls_proxy& proxy) {
    return redis_factory({.path = proxy.path(),
                          .password = servers::password,
                          .command_timeout = 2s,
                          .ping_to_validate = true});
  }
  /// Returns the error of a create, which is not permanent, or an empty string.
  static std::string error_of(const redis_factory& one) {
    try {
      (void)one.create({steady_clock::now() + 10s, {}});
      return {};
    } catch (const permanent_failure& error) {
      return std::string("permanent: ") + error.what();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }
};

TEST_F(RedisTls, ConnectionsAreValidatedAndResetThroughTheProxy) {
  redis_pool pool(behind(here()->proxy), {.max_size = 1, .validate_if_idle_longer_than = 0s});
  EXPECT_EQ(pool.acquire()->ask("MULTI").text, "OK");
  EXPECT_EQ(pool.acquire()->ask("SET greeting hello").text, "OK");
  EXPECT_EQ(test::settled(pool).created, 1U);
}

TEST_F(RedisTls, AConnectWithoutTheProxyFails) {
  const std::string told = error_of(redis_factory(
      {.port = here()->redis.port(), .password = servers::password, .command_timeout = 2s}));
  EXPECT_NE(told, "");
  EXPECT_EQ(told.find("permanent"), std::string::npos) << told;
}

TEST_F(RedisTls, TheProxyRefusesAServerWhoseAuthorityIsUnknown) {
  const servers::tls_proxy strict(here()->redis.port(), here()->tls.other_authority());
  const auto begin = steady_clock::now();
  const std::string told = error_of(behind(strict));
  EXPECT_NE(told, "");
  EXPECT_EQ(told.find("permanent"), std::string::npos) << told;
  EXPECT_LT(steady_clock::now() - begin, 5s);  // it does not wait for an answer
}

TEST_F(RedisTls, TheProxyRefusesAServerWithACertificateForAnotherName) {
  const servers::tls_proxy strict(here()->redis.port(), here()->tls.authority(), "redis.example");
  EXPECT_NE(error_of(behind(strict)), "");
}

TEST_F(RedisTls, AServerThatRestartsBehindTheProxyGetsNewConnections) {
  redis_pool pool(behind(here()->proxy), {.max_size = 1, .validate_if_idle_longer_than = 0s});
  EXPECT_EQ(pool.acquire()->ask("SET greeting hello").text, "OK");
  here()->redis.process().end(SIGKILL);
  here()->redis.restart();
  EXPECT_EQ(pool.acquire()->ask("SET greeting hello").text, "OK");
  EXPECT_EQ(test::settled(pool).created, 2U);
}

}  // namespace
}  // namespace lido
