// Names with several addresses, some of which do not answer.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <list>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "connect/deaf_listener.hpp"
#include "lido/tcp.hpp"
#include "servers/echo_server.hpp"
#include "support/two_addresses.hpp"

namespace lido {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

class SeveralAddresses : public ::testing::Test {
 protected:
  [[nodiscard]] net::ip::tcp::endpoint at(const char* digits) const {
    return {net::ip::make_address(digits), static_cast<unsigned short>(server_.port())};
  }
  [[nodiscard]] tcp_factory factory() {
    return tcp_factory(context_.get_executor(),
                       {.host = test::two_addresses_name, .port = std::to_string(server_.port())});
  }
  /// Returns how long a create takes that leads to 127.0.0.1.
  static steady_clock::duration time_to_connect(const tcp_factory& to) {
    const auto begin = steady_clock::now();
    const auto made = to.create({begin + 40s, {}});
    EXPECT_EQ(made.remote_endpoint().address().to_string(), "127.0.0.1");
    return steady_clock::now() - begin;
  }
  static bool has_ipv6() {
    net::io_context context;
    net::ip::tcp::acceptor any(context);
    boost::system::error_code failed;
    any.open(net::ip::tcp::v6(), failed);
    any.bind({net::ip::address_v6::loopback(), 0}, failed);
    return !failed;
  }

  servers::echo_server server_;  // NOLINT(*-non-private-member-*)
  net::io_context context_;      // NOLINT(*-non-private-member-*)
};

TEST_F(SeveralAddresses, ASilentAddressCostsOneConnectAQuarterOfASecond) {
  for (const char* const silent : {"::1", "127.0.0.8,127.0.0.9,127.0.0.10"}) {
    if (silent == std::string("::1") && !has_ipv6()) {
      continue;
    }
    const test::two_addresses known(silent);
    const std::string list = silent;
    std::list<deaf_listener> deaf;
    for (const char* const one : {"::1", "127.0.0.8", "127.0.0.9", "127.0.0.10"}) {
      if (list.find(one) != std::string::npos) {
        deaf.emplace_back(at(one));
      }
    }
    const tcp_factory to = factory();
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it is what is tested
    const tcp_factory copy = to;  // which knows what the other has learned
    EXPECT_LT(time_to_connect(to), 8s) << silent << ": each address was waited for in turn";
    steady_clock::duration all{};
    for (int i = 0; i < 16; ++i) {
      all += time_to_connect(copy);
    }
    EXPECT_LT(all, 16 * 250ms) << silent << ": every connect waits";
  }
}

TEST_F(SeveralAddresses, ConnectsSpreadOverThoseThatAnswer) {
  const deaf_listener deaf(at("127.0.0.8"));
  net::ip::tcp::acceptor other(context_, at("127.0.0.2"));
  const test::two_addresses known("127.0.0.8,127.0.0.2");
  const tcp_factory to = factory();
  std::vector<net::ip::tcp::socket> all;
  std::multiset<std::string> peers;
  for (int i = 0; i < 32; ++i) {
    all.push_back(to.create({steady_clock::now() + 20s, {}}));
    peers.insert(all.back().remote_endpoint().address().to_string());
  }
  EXPECT_EQ(peers.size(), peers.count("127.0.0.1") + peers.count("127.0.0.2"));
  EXPECT_GT(peers.count("127.0.0.1"), 3U);
  EXPECT_GT(peers.count("127.0.0.2"), 3U);
}

// The factory starts no other connect while the first may succeed soon.
TEST_F(SeveralAddresses, AnAddressThatAnswersIsConnectedToAlone) {
  net::ip::tcp::acceptor other(context_, at("127.0.0.2"));
  other.non_blocking(true);
  const test::two_addresses known("127.0.0.2");
  int connected = 0;
  for (int i = 0; i < 32; ++i) {
    const auto made = factory().create({steady_clock::now() + 20s, {}});
    connected += made.remote_endpoint().address() == other.local_endpoint().address() ? 1 : 0;
  }
  int accepted = 0;
  for (boost::system::error_code none; !none; accepted += none ? 0 : 1) {
    (void)other.accept(none);
  }
  EXPECT_EQ(accepted, connected);
  EXPECT_GT(connected, 0);
}

TEST_F(SeveralAddresses, TheNextConnectBeginsAfterAQuarterOfASecond) {
  if (!has_ipv6()) {
    GTEST_SKIP() << "no IPv6, whose addresses come first";
  }
  const deaf_listener deaf(at("::1"));
  const test::two_addresses known("::1");
  steady_clock::duration least = 1h;
  for (int i = 0; i < 8; ++i) {
    least = std::min(least, time_to_connect(factory()));
  }
  EXPECT_GE(least, 250ms);
  EXPECT_LT(least, 500ms) << "on a busy machine, some take longer";
}

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

// Only the winner stays open. The stop is obeyed while several connects are under way.
TEST_F(SeveralAddresses, ConnectsThatLostAreClosed) {
  const deaf_listener deaf(at("127.0.0.8"));
  const deaf_listener another(at("127.0.0.9"));
  const test::two_addresses known("127.0.0.8,127.0.0.9");
  const std::ptrdiff_t before = open_descriptors();
  for (int i = 0; i < 8; ++i) {
    (void)time_to_connect(factory());  // each of which has yet to meet the silent ones
  }
  EXPECT_LE(open_descriptors(), before + 8) << "the server may not have closed its ends yet";
  server_.refuse(/*on=*/true);
  std::stop_source stop;
  std::jthread later([&stop] {
    std::this_thread::sleep_for(600ms);
    stop.request_stop();
  });
  const auto begin = steady_clock::now();
  EXPECT_THROW((void)factory().create({begin + 40s, stop.get_token()}),
               boost::system::system_error);
  EXPECT_LT(steady_clock::now() - begin, 20s);
  EXPECT_LE(open_descriptors(), before + 8);
}

TEST_F(SeveralAddresses, AnAddressThatRefusesBesideASilentOneIsFollowedAtOnce) {
  const deaf_listener deaf(at("127.0.0.8"));
  std::vector<detail::address> all;
  for (const char* const one : {"127.0.0.8", "127.0.0.9", "127.0.0.1"}) {
    ASSERT_EQ(
        detail::look_up(one, std::to_string(server_.port()), {steady_clock::now() + 20s, {}}, all),
        0);
  }
  auto fastest = 20s + 0ns;
  for (int i = 0; i < 8 && fastest > 450ms; ++i) {  // on a busy machine
    detail::address_memory fresh;
    int made = -1;
    const auto begin = steady_clock::now();
    ASSERT_EQ(detail::dial(all, {}, fresh, {begin + 20s, {}}, made), 0);
    fastest = std::min(fastest, steady_clock::now() - begin);
    ::close(made);
  }
  EXPECT_GE(fastest, 200ms) << "the first is not silent";
  EXPECT_LT(fastest, 450ms) << "it waits twice";
}

// If the time is short, each address is tried nevertheless.
TEST_F(SeveralAddresses, AShortTimeSufficesForAllAddresses) {
  const std::vector<std::string> silent{"127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7"};
  std::list<deaf_listener> deaf;
  for (const std::string& one : silent) {
    deaf.emplace_back(at(one.c_str()));
  }
  const test::two_addresses known("127.0.0.4,127.0.0.5,127.0.0.6,127.0.0.7");
  int connected = 0;
  for (int i = 0; i < 40 && connected < 5; ++i) {
    try {
      (void)factory().create({steady_clock::now() + 500ms, {}});
      ++connected;
    } catch (const boost::system::system_error&) {  // on a busy machine
    }
  }
  EXPECT_EQ(connected, 5);
}

TEST_F(SeveralAddresses, FamiliesAlternate) {
  const test::two_addresses known("2001:db8::1,2001:db8::2,2001:db8::3,127.0.0.2");
  std::set<std::string> firsts;
  for (int i = 0; i < 64; ++i) {
    std::vector<detail::address> all;
    ASSERT_EQ(detail::look_up(test::two_addresses_name, "80", {steady_clock::now() + 20s, {}}, all),
              0);
    ASSERT_EQ(all.size(), 5U);
    std::string families;
    for (const detail::address& one : all) {
      families += one.bytes.ss_family == AF_INET6 ? '6' : '4';
    }
    EXPECT_EQ(families, "64646");
    firsts.insert(all[0].digits());
    firsts.insert(all[1].digits());
  }
  EXPECT_EQ(firsts.size(), 5U) << "equal addresses begin at another one each time";
}

TEST(AddressMemory, AvoidsWhatFailedForFiveMinutes) {
  detail::address_memory memory;
  const auto begin = steady_clock::now();
  memory.note("b", /*failed=*/true, begin);
  memory.note("c", /*failed=*/true, begin + 1min);
  EXPECT_FALSE(memory.avoids("a", begin + 1min));
  EXPECT_TRUE(memory.avoids("b", begin + 5min - 1ns));
  EXPECT_FALSE(memory.avoids("b", begin + 5min));
  EXPECT_TRUE(memory.avoids("c", begin + 5min));
  memory.note("c", /*failed=*/false, begin + 5min);
  EXPECT_FALSE(memory.avoids("c", begin + 5min));
}

TEST(AddressMemory, PutsWhatItAvoidsLastInTheSameOrder) {
  detail::address_memory memory;
  memory.note("d", /*failed=*/true);
  memory.note("b", /*failed=*/true);
  std::vector<std::string> all{"a", "b", "c", "d", "e"};
  memory.put_avoided_last(all, [](const std::string& one) { return one; });
  EXPECT_EQ(all, (std::vector<std::string>{"a", "c", "e", "b", "d"}));
}

}  // namespace
}  // namespace lido
