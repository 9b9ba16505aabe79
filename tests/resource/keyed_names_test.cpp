// Which key it was: in errors, events and lists of leases.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lido/keyed_resource_pool.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

struct host {
  std::string name;
  int port = 0;
  friend bool operator==(const host&, const host&) = default;
};
std::string to_string(const host& of) {
  return of.name + ':' + std::to_string(of.port);
}

/// Nothing makes text of it.
struct number {
  int value = 0;
  friend bool operator==(const number&, const number&) = default;
};

}  // namespace

template <>
struct key_hash<host> {
  static std::size_t hash(const host& of) { return std::hash<std::string>()(of.name); }
  static bool equal(const host& left, const host& right) { return left == right; }
};
template <>
struct key_hash<number> {
  static std::size_t hash(const number& of) { return static_cast<std::size_t>(of.value); }
  static bool equal(const number& left, const number& right) { return left == right; }
};

namespace {

/// As this library names its own enumerations.
enum class region { near, far };
std::string_view to_string(region of) {
  return of == region::near ? "near" : "far";
}

/// Of some there is no text.
struct moody {
  int value = 0;
};
std::string to_string(const moody& of) {
  if (of.value == 0) {
    throw std::runtime_error("no text");
  }
  return "fine";
}
struct hash_of_moody {
  static std::size_t hash(const moody& of) { return static_cast<std::size_t>(of.value); }
  static bool equal(const moody& left, const moody& right) { return left.value == right.value; }
};

/// What the error of an acquire says that finds no room.
template <class Key>
std::string refusal(const Key& key) {
  keyed_resource_pool<Key, int> pool([](const Key&) { return 1; },
                                     {.max_total = 1, .each_key = {.name = "backends"}});
  const auto held = pool.acquire(key);
  try {
    (void)pool.acquire_for(key, 0s);
  } catch (const acquire_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(KeyedNames, AnErrorNamesTheKeyBehindThePool) {
  using std::string_literals::operator""s;
  EXPECT_NE(refusal("db1:5432"s).find("pool 'backends[db1:5432]'"), std::string::npos);
  EXPECT_NE(refusal(7).find("pool 'backends[7]'"), std::string::npos);
  EXPECT_NE(refusal(host{"db2", 80}).find("pool 'backends[db2:80]'"), std::string::npos);
  EXPECT_NE(refusal(region::far).find("pool 'backends[far]'"), std::string::npos);
}

TEST(KeyedNames, AKeyWithoutTextIsNotNamed) {
  EXPECT_NE(refusal(number{1}).find("pool 'backends'"), std::string::npos);
  EXPECT_NE(refusal<const char*>("an address").find("pool 'backends'"), std::string::npos);
}

TEST(KeyedNames, AnEventNamesTheKey) {
  std::vector<std::string> told;
  keyed_resource_pool_options options{
      .each_key = {.name = "backends", .upkeep = maintenance::by_callers}};
  options.each_key.on_event = [&](const pool_event& event) { told.emplace_back(event.pool); };
  keyed_resource_pool<std::string, int> pool(
      [](const std::string&) -> int { throw permanent_failure("refused"); }, options);
  EXPECT_THROW((void)pool.acquire("db1"), acquire_error);
  EXPECT_EQ(told, std::vector<std::string>{"backends[db1]"});
}

TEST(KeyedNames, LeasesAndTheReportOfACloseNameTheirKeys) {
  keyed_resource_pool<host, int> pool([](const host&) { return 1; });
  const auto first = pool.acquire(host{"db1", 80});
  const auto second = pool.acquire(host{"db2", 80});
  const auto keys_of = [](const std::vector<lease_info>& leases) {
    std::vector<std::string> keys;
    keys.reserve(leases.size());
    for (const lease_info& lease : leases) {
      keys.push_back(lease.key);
    }
    return keys;
  };
  const std::vector<std::string> both{"db2:80", "db1:80"};  // the newest key first
  EXPECT_EQ(keys_of(pool.leases()), both);
  EXPECT_EQ(keys_of(pool.close(0s).holders), both);
}

TEST(KeyedNames, ATextThatCannotBeMadeCostsNothing) {
  keyed_resource_pool<moody, int, hash_of_moody> pool(
      [](const moody&) { return 1; }, {.max_total = 1, .each_key = {.max_size = 1}});
  EXPECT_THROW((void)pool.acquire(moody{0}), std::runtime_error);
  EXPECT_EQ(pool.stats().keys, 0U);
  EXPECT_EQ(*pool.acquire(moody{1}), 1);
}

}  // namespace
}  // namespace lido
