// How often a key is made.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "lido/keyed_resource_pool.hpp"

namespace lido {
namespace {

using namespace std::chrono_literals;

/// Counts each of its kind that is made, from a name or from another one.
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

/// Only with `is_transparent` may others than keys be looked up as they are.
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

/// All that is called with a key, which is known.
template <class Pool, class K>
int keys_made_by_all_calls(Pool& pool, const K& key) {
  const int before = counted_key::made;
  (void)pool.acquire(key);
  (void)pool.acquire_for(key, 1s);
  (void)pool.acquire_until(key, std::chrono::steady_clock::now() + 1s);
  const auto held = pool.try_acquire(key);
  EXPECT_TRUE(held);
  EXPECT_TRUE(pool.kill(key, held.handle()));
  pool.flush(key);
  EXPECT_TRUE(pool.stats(key));
  pool.tick();
  return counted_key::made - before;
}

const keyed_resource_pool_options two_at_most{
    .max_total = 2, .each_key = {.max_size = 2, .upkeep = maintenance::by_tick}};

TEST(KeyedLookup, AKnownKeyIsLookedUpWithoutACopy) {
  keyed_resource_pool<counted_key, int, transparent_hash> pool(dialer{}, two_at_most);
  const counted_key key("a");
  pool.acquire(key).reset();
  EXPECT_EQ(keys_made_by_all_calls(pool, key), 0);
  pool.acquire(key).reset();
  EXPECT_EQ(keys_made_by_all_calls(pool, std::string_view("a")), 0);
}

TEST(KeyedLookup, WithAnyHashAKeyItselfIsLookedUpWithoutACopy) {
  keyed_resource_pool<counted_key, int, opaque_hash> pool(dialer{}, two_at_most);
  const counted_key key("a");
  pool.acquire(key).reset();
  EXPECT_EQ(keys_made_by_all_calls(pool, key), 0);
  pool.acquire(key).reset();
  EXPECT_GT(keys_made_by_all_calls(pool, std::string_view("a")), 0) << "and is what counts";
}

TEST(KeyedLookup, AKeyThatIsNotThereIsNotMadeByWhoAsksForNothing) {
  keyed_resource_pool<counted_key, int, transparent_hash> pool(dialer{}, two_at_most);
  const int before = counted_key::made;
  EXPECT_FALSE(pool.stats(std::string_view("a")));
  EXPECT_FALSE(pool.kill(std::string_view("a"), {}));
  pool.flush(std::string_view("a"));
  EXPECT_EQ(counted_key::made, before);
  EXPECT_EQ(pool.stats().keys, 0U);
}

TEST(KeyedLookup, AFactoryThatIsNullIsRefused) {
  using pool = keyed_resource_pool<std::string, int>;
  EXPECT_THROW(pool{std::function<int(const std::string&)>()}, std::invalid_argument);
}

struct moody_hash {
  static inline bool throws = false;
  static std::size_t hash(int key) {
    return throws ? throw std::runtime_error("moody") : static_cast<std::size_t>(key);
  }
  static bool equal(int one, int other) { return one == other; }
};

TEST(KeyedLookup, AKeyWhoseHashThrowsIsForgottenByALaterTick) {
  keyed_resource_pool<int, int, moody_hash> pool(
      [](const int& key) { return key; },
      {.max_total = 2, .each_key = {.max_size = 2, .upkeep = maintenance::by_tick}});
  pool.acquire(1).discard();
  moody_hash::throws = true;
  EXPECT_NO_THROW(pool.tick());
  moody_hash::throws = false;
  EXPECT_TRUE(pool.stats(1));
  pool.tick();
  EXPECT_FALSE(pool.stats(1));
}

}  // namespace
}  // namespace lido
