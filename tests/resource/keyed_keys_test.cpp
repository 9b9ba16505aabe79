// Keys: how they are looked up, how often they are copied, and how errors name them.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lido/keyed_resource_pool.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

/// Counts its constructions, from a name or from another key.
class counted_key {
 public:
  explicit counted_key(std::string_view name) : name_(name) { ++made; }
  counted_key(const counted_key& other) : name_(other.name_) { ++made; }
  counted_key(counted_key&& other) noexcept : name_(std::move(other.name_)) { ++made; }
  counted_key& operator=(const counted_key&) = delete;
  counted_key& operator=(counted_key&&) = delete;
  ~counted_key() = default;

  [[nodiscard]] std::string_view name() const { return name_; }

  inline static std::atomic<int> made{0};

 private:
  std::string name_;
};

inline std::string_view name_of(std::string_view name) {
  return name;
}
inline std::string_view name_of(const counted_key& key) {
  return key.name();
}

/// Other types than the key may be looked up without a copy only with `is_transparent`.
struct opaque_hash {
  static std::size_t hash(const auto& key) { return std::hash<std::string_view>()(name_of(key)); }
  static bool equal(const auto& left, const auto& right) { return name_of(left) == name_of(right); }
};
struct transparent_hash : opaque_hash {
  using is_transparent = void;
};

struct dialer {
  static int create(const counted_key& /*key*/) { return 1; }
};

/// Makes every call that takes a key, for a known key. Returns how many keys were constructed.
template <class Pool, class K>
int keys_made_by_all_calls(Pool& pool, const K& key) {
  const int before = counted_key::made;
  (void)pool.at(key).acquire();
  (void)pool.at(key).acquire_for(1s);
  (void)pool.at(key).acquire_until(std::chrono::steady_clock::now() + 1s);
  const auto held = pool.at(key).try_acquire();
  EXPECT_TRUE(held);
  (void)pool.at(key).try_acquire_for(1s);
  pool.at(key).flush();
  EXPECT_TRUE(pool.at(key).stats());
  pool.tick();
  return counted_key::made - before;
}

const keyed_resource_pool_options two_at_most{
    .max_total = 2, .each_key = {.max_size = 2, .maintenance = maintenance::by_tick}};

TEST(KeyedLookup, AKnownKeyIsLookedUpWithoutACopy) {
  keyed_resource_pool<counted_key, int, transparent_hash> pool(dialer{}, two_at_most);
  const counted_key key("a");
  pool.at(key).acquire().reset();
  EXPECT_EQ(keys_made_by_all_calls(pool, key), 0);
  pool.at(key).acquire().reset();
  EXPECT_EQ(keys_made_by_all_calls(pool, std::string_view("a")), 0);
}

TEST(KeyedLookup, WithAnyHashAKeyItselfIsLookedUpWithoutACopy) {
  keyed_resource_pool<counted_key, int, opaque_hash> pool(dialer{}, two_at_most);
  const counted_key key("a");
  pool.at(key).acquire().reset();
  EXPECT_EQ(keys_made_by_all_calls(pool, key), 0);
  pool.at(key).acquire().reset();
  EXPECT_GT(keys_made_by_all_calls(pool, std::string_view("a")), 0) << "the copies are counted";
}

TEST(KeyedLookup, NeitherStatsNorFlushAddsAnUnknownKey) {
  keyed_resource_pool<counted_key, int, transparent_hash> pool(dialer{}, two_at_most);
  const int before = counted_key::made;
  EXPECT_FALSE(pool.at(std::string_view("a")).stats());
  pool.at(std::string_view("a")).flush();
  EXPECT_EQ(counted_key::made, before);
  EXPECT_EQ(pool.stats().keys, 0U);
}

TEST(KeyedLookup, AKeyMayBeAnyKindOfString) {
  int made = 0;
  keyed_resource_pool<std::string, int> pool([&](const std::string&) { return ++made; },
                                             two_at_most);
  EXPECT_EQ(*pool.at(std::string_view("a")).acquire(), 1);
  EXPECT_EQ(*pool.at("a").acquire(), 1);
  EXPECT_EQ(*pool.at(std::string("a")).acquire(), 1);
  EXPECT_FALSE(pool.at(std::string_view("b")).stats());
}

TEST(KeyedLookup, KeysWithTheSameHashHaveTheirOwnResources) {
  struct same_hash {
    static std::size_t hash(int /*key*/) { return 7; }
    static bool equal(int left, int right) { return left == right; }
  };
  keyed_resource_pool<int, int, same_hash> pool(
      [](int key) { return key; },
      {.max_total = 4, .each_key = {.max_size = 2, .maintenance = maintenance::by_tick}});
  for (const int key : {1, 2, 2, 1, 3, 1, 2, 3}) {  // also right after another one's
    const auto first = pool.at(key).acquire();
    const auto second = pool.at(key).acquire();
    EXPECT_EQ(*first, key);
    EXPECT_EQ(*second, key);
    EXPECT_EQ(pool.at(key).stats()->in_use, 2U);
  }
  pool.at(3).flush();
  EXPECT_EQ(pool.at(3).stats()->live, 0U);
  EXPECT_EQ(pool.at(2).stats()->live, 2U);
}

TEST(KeyedLookup, ANullFactoryIsRefused) {
  using pool = keyed_resource_pool<std::string, int>;
  EXPECT_THROW(pool{std::function<int(const std::string&)>()}, std::invalid_argument);
}

/// Counts its calls; a comparison throws after `left_until_throw` others.
struct counting_hash {
  static inline int hashes = 0;
  static inline int comparisons = 0;
  static inline int left_until_throw = -1;
  static std::size_t hash(int key) {
    ++hashes;
    return static_cast<std::size_t>(key);
  }
  static bool equal(int one, int other) {
    ++comparisons;
    return left_until_throw-- == 0 ? throw std::runtime_error("moody") : one == other;
  }
};
using counting_pool = keyed_resource_pool<int, int, counting_hash>;

/// Returns locks of the mutex, and comparisons, of one acquire in a full pool.
std::pair<std::uint64_t, int> cost_of_refusal(counting_pool& pool, int key) {
  const std::uint64_t locks = pool.stats().mutex_locks;
  const int comparisons = counting_hash::comparisons;
  EXPECT_FALSE(pool.at(key).try_acquire());
  const int compared = counting_hash::comparisons - comparisons;
  return {pool.stats().mutex_locks - locks - 1, compared};  // not that of the first stats
}

TEST(KeyedLookup, ANewKeyTakesOneLockAndAKnownOneTwo) {
  counting_pool pool([](const int& key) { return key; },
                     {.max_total = 1, .each_key = two_at_most.each_key});
  const auto held = pool.at(1).acquire();
  EXPECT_EQ(cost_of_refusal(pool, 2), std::pair(std::uint64_t{1}, 0));
  EXPECT_EQ(cost_of_refusal(pool, 2), std::pair(std::uint64_t{2}, 2));
  pool.tick();
  EXPECT_EQ(pool.stats().keys, 1U);
  EXPECT_EQ(cost_of_refusal(pool, 2), std::pair(std::uint64_t{1}, 0)) << "once it was forgotten";
}

TEST(KeyedLookup, AKeyIsHashedOnceBesideTheLookAtTheLastOne) {
  counting_pool pool([](const int& key) { return key; }, two_at_most);
  const auto first = pool.at(1).acquire();
  counting_hash::hashes = 0;
  const auto second = pool.at(1).acquire();
  EXPECT_EQ(counting_hash::hashes, 2);
  pool.tick();
  (void)pool.stats();
  EXPECT_EQ(counting_hash::hashes, 2) << "nobody else hashes it";
}

TEST(KeyedLookup, AKeyWhoseComparisonThrowsIsForgottenByALaterTick) {
  counting_pool pool([](const int& key) { return key; }, two_at_most);
  pool.at(1).acquire().discard();
  counting_hash::left_until_throw = 0;
  EXPECT_NO_THROW(pool.tick());
  EXPECT_TRUE(pool.at(1).stats());
  pool.tick();
  EXPECT_FALSE(pool.at(1).stats());
}

TEST(KeyedLookup, AKeyWhoseComparisonThrowsCostsNoResource) {
  counting_pool pool([](const int& key) { return key; },
                     {.max_total = 1, .each_key = two_at_most.each_key});
  int thrown = 0;
  for (int at = 0; at < 4; ++at) {  // the last one's, then both look-ups
    auto other = pool.at(2).acquire();
    (void)pool.at(1).try_acquire();
    counting_hash::left_until_throw = at;
    try {
      (void)pool.at(1).try_acquire();
      other.reset();
      (void)pool.at(2).try_acquire();
    } catch (const std::runtime_error&) {
      ++thrown;
    }
    counting_hash::left_until_throw = -1;
    other.reset();
    EXPECT_EQ(pool.stats().in_use, 0U);
    EXPECT_EQ(pool.stats().waiting, 0U);
    EXPECT_NO_THROW(pool.at(1).acquire().discard());
  }
  EXPECT_EQ(thrown, 3);
}

TEST(KeyedLookup, AKeyWhoseComparisonThrowsAfterAFailedCreateCostsNoResource) {
  resource_lease<int> held;
  const auto create = [&held](const int& key) {
    if (held) {
      held.reset();
      counting_hash::left_until_throw = 0;
      throw std::logic_error("down");
    }
    return key;
  };
  counting_pool pool(create, two_at_most);
  held = pool.at(1).acquire();
  EXPECT_THROW((void)pool.at(1).try_acquire(), std::runtime_error);
  const auto idle = pool.at(1).try_acquire();
  EXPECT_TRUE(idle);
  EXPECT_TRUE(pool.at(2).try_acquire()) << "the place of the failed create";
}

/// A pool in which `try_acquire_idle` of key 1 finds a resource, or not.
struct idle_of_key {
  const char* name;
  void (*prepare)(counting_pool& pool);
  bool is_taken;
};

TEST(KeyedIdle, OnlyAnIdleResourceOfTheKeyIsTaken) {
  const idle_of_key rows[] = {
      {"an unknown key", [](counting_pool& pool) { (void)pool.at(2).acquire(); }, false},
      {"no key at all", [](counting_pool& /*pool*/) {}, false},
      {"what this thread had last", [](counting_pool& pool) { (void)pool.at(1).acquire(); }, true},
      {"what another thread had last",
       [](counting_pool& pool) { std::thread([&] { (void)pool.at(1).acquire(); }).join(); }, true},
      {"when this thread had another key last",
       [](counting_pool& pool) {
         (void)pool.at(1).acquire();
         (void)pool.at(2).acquire();
       },
       true},
      {"a key whose resource is discarded",
       [](counting_pool& pool) { pool.at(1).acquire().discard(); }, false},
      {"a suspended pool",
       [](counting_pool& pool) {
         (void)pool.at(1).acquire();
         pool.suspend();
       },
       false},
      {"a closed pool",
       [](counting_pool& pool) {
         (void)pool.at(1).acquire();
         (void)pool.close(0s);
       },
       false},
  };
  for (const idle_of_key& one : rows) {
    SCOPED_TRACE(one.name);
    counting_pool pool([](const int& key) { return key; }, two_at_most);
    one.prepare(pool);
    const auto before = pool.stats();
    const auto got = pool.at(1).try_acquire_idle();
    EXPECT_EQ(got ? *got : 0, one.is_taken ? 1 : 0);
    EXPECT_FALSE(pool.at(1).try_acquire_idle()) << "it is in use, or was not there";
    const auto after = pool.stats();
    EXPECT_EQ(after.in_use, one.is_taken ? 1U : 0U);
    EXPECT_EQ(after.keys, before.keys);
    EXPECT_EQ(after.created, before.created);
  }
}

TEST(KeyedIdle, WhatItTakesIsNoLongerWhatItsThreadHadLast) {
  counting_pool pool([](const int& key) { return key; },
                     {.max_total = 1, .each_key = two_at_most.each_key});
  (void)pool.at(1).acquire();
  auto idle = pool.at(1).try_acquire_idle();
  ASSERT_TRUE(idle);
  EXPECT_FALSE(pool.at(1).try_acquire());
  EXPECT_FALSE(pool.at(1).try_acquire_idle());
  idle.reset();
  EXPECT_TRUE(pool.at(1).try_acquire());
}

TEST(KeyedIdle, AComparisonThatThrowsCostsNoResource) {
  counting_pool pool([](const int& key) { return key; }, two_at_most);
  (void)pool.at(1).acquire();
  counting_hash::left_until_throw = 0;
  EXPECT_THROW((void)pool.at(1).try_acquire_idle(), std::runtime_error);
  EXPECT_EQ(counting_hash::left_until_throw, -1) << "it has thrown";
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_EQ(pool.stats().idle, 1U);
  EXPECT_TRUE(pool.at(1).try_acquire_idle()) << "and the mutex is free";
}

/// A hash that throws while it is told to.
struct throwing_hash {
  static inline bool throws = false;
  static std::size_t hash(int key) {
    return throws ? throw std::runtime_error("no hash") : static_cast<std::size_t>(key);
  }
  static bool equal(int one, int other) { return one == other; }
};

TEST(KeyedIdle, AHashThatThrowsCostsNoResource) {
  keyed_resource_pool<int, int, throwing_hash> pool([](const int& key) { return key; },
                                                    two_at_most);
  (void)pool.at(1).acquire();
  throwing_hash::throws = true;
  EXPECT_THROW((void)pool.at(1).try_acquire_idle(), std::runtime_error);
  throwing_hash::throws = false;
  EXPECT_EQ(pool.stats().in_use, 0U);
  EXPECT_TRUE(pool.at(1).try_acquire_idle());
}

struct host {
  std::string name;
  int port = 0;
  friend bool operator==(const host&, const host&) = default;
};
std::string to_string(const host& of) {
  return of.name + ':' + std::to_string(of.port);
}

/// A key without `to_string`.
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

/// A key with a `to_string` like those of this library's enumerations.
enum class region { near, far };
std::string_view to_string(region of) {
  return of == region::near ? "near" : "far";
}

/// A key whose `to_string` throws for some values.
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

/// Returns the error of an acquire that times out.
template <class Key>
std::string refusal(const Key& key) {
  keyed_resource_pool<Key, int> pool([](const Key&) { return 1; },
                                     {.max_total = 1, .each_key = {.name = "backends"}});
  const auto held = pool.at(key).acquire();
  try {
    (void)pool.at(key).acquire_for(0s);
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

TEST(KeyedNames, LeasesAndTheReportOfACloseNameTheirKeys) {
  keyed_resource_pool<host, int> pool([](const host&) { return 1; });
  const auto first = pool.at(host{"db1", 80}).acquire();
  const auto second = pool.at(host{"db2", 80}).acquire();
  const auto keys_of = [](const std::vector<lease_info>& leases) {
    std::vector<std::string> keys;
    keys.reserve(leases.size());
    for (const lease_info& lease : leases) {
      keys.push_back(lease.key);
    }
    return keys;
  };
  const std::vector<std::string> both{"db1:80", "db2:80"};
  EXPECT_EQ(keys_of(pool.leases()), both);
  EXPECT_EQ(keys_of(pool.close(0s).holders), both);
}

TEST(KeyedNames, AToStringThatThrowsLosesNoResource) {
  keyed_resource_pool<moody, int, hash_of_moody> pool(
      [](const moody&) { return 1; }, {.max_total = 1, .each_key = {.max_size = 1}});
  EXPECT_THROW((void)pool.at(moody{0}).acquire(), std::runtime_error);
  EXPECT_EQ(pool.stats().keys, 0U);
  EXPECT_EQ(*pool.at(moody{1}).acquire(), 1);
}

}  // namespace
}  // namespace lido
