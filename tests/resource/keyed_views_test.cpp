// Views of keys: what they store of the pool and of the key, and what continues without them.
#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "lido/keyed_resource_pool.hpp"
#include "lido/platform/compiler.hpp"
#include "support/addr2line.hpp"

namespace lido {
namespace test {

/// A coroutine that begins when a test resumes it.
struct lazy {
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's
    lazy get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    static void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] std::coroutine_handle<> await_suspend(
      std::coroutine_handle<> outer) const noexcept {
    handle.resume();
    return outer;
  }
  void await_resume() const noexcept { handle.destroy(); }
};

/// Not in the namespace below, as GCC warns of coroutines with such types in their frames.
struct name_taker {
  std::string* name;
  // NOLINTNEXTLINE(readability-static-accessed-through-instance): from code that the compiler
  // generates
  lazy operator()(std::string& link) const {
    *name = link;
    co_return;
  }
};

}  // namespace test

namespace {

using named_links = keyed_resource_pool<std::string, std::string>;

std::string link_named(const std::string& host) {
  return host;
}

/// How a view stores a key that `at` is given as a K.
template <class K>
using kept_of = detail::kept_key<std::string, key_hash<std::string>, K>;
static_assert(std::is_same_v<kept_of<const std::string&>, const std::string&>);
static_assert(std::is_same_v<kept_of<std::string&>, const std::string&>);
static_assert(std::is_same_v<kept_of<std::string>, std::string>);
static_assert(std::is_same_v<kept_of<std::string_view&>, std::string_view>);
static_assert(std::is_same_v<kept_of<const char (&)[3]>, const char*>);
struct length_hash {
  static std::size_t hash(const std::string& key) { return key.size(); }
  static bool equal(const std::string& left, const std::string& right) { return left == right; }
};
static_assert(std::is_same_v<detail::kept_key<std::string, length_hash, const char*>, std::string>);

const std::string long_name(40, 'k');  // too long to be inside of a string

TEST(KeyedViews, AViewRefersToAVariableAndHasATemporary) {
  named_links pool(&link_named);
  std::string name = long_name;
  auto of_variable = pool.at(name);
  auto of_temporary = pool.at(std::string(long_name));
  auto of_braces = pool.at({'k', 'k'});
  EXPECT_EQ(*of_temporary.acquire(), long_name);
  EXPECT_EQ(*of_braces.acquire(), "kk");
  name = "other";
  EXPECT_EQ(*of_variable.acquire(), "other");
}

TEST(KeyedViews, AViewWithoutATransparentHashHasAKey) {
  keyed_resource_pool<std::string, std::string, length_hash> pool(&link_named);
  auto view = pool.at(long_name.c_str());
  EXPECT_EQ(*view.acquire(), long_name);
}

TEST(KeyedViews, ALeaseNamesFileAndLineOfItsAcquire) {
  named_links pool(&link_named);
  for (int round = 0; round < 2; ++round) {  // a new key, and what came back last
    const auto lease = pool.at("a").acquire();
    const std::string line = ":" + std::to_string(__LINE__ - 1);
    const std::string place = test::resolve(pool.leases().front().where());
    EXPECT_NE(place.find("keyed_views_test.cpp" + line), std::string::npos) << place;
  }
}

TEST(KeyedViews, AForgottenKeyIsAddedAgainByItsView) {
  named_links pool(&link_named, {.each_key = {.maintenance = maintenance::by_tick}});
  auto view = pool.at("a");
  EXPECT_FALSE(view.stats());
  view.flush();
  EXPECT_FALSE(view.stats());
  view.acquire().discard();
  EXPECT_EQ(view.stats().value().created, 1U);
  pool.tick();
  EXPECT_FALSE(view.stats());
  EXPECT_EQ(*view.try_acquire_for(std::chrono::seconds(20)), "a");
}

// Clang 14 cannot compile a template of a coroutine with its sanitizer of function types.
#if !defined(__clang__) || !LIDO_HAS_ASAN
// The view and its key are gone when the coroutine begins.
TEST(KeyedViews, ACoroutineHasItsKey) {
  named_links pool(&link_named, {.each_key = {.maintenance = maintenance::by_tick}});
  std::string used;
  pool.at(long_name).acquire().reset();
  const test::lazy outer = pool.at(std::string(long_name)).co_with(test::name_taker{&used});
  outer.handle.resume();
  EXPECT_EQ(used, long_name);
  EXPECT_TRUE(outer.handle.done());
  outer.handle.destroy();
}
#endif

}  // namespace
}  // namespace lido
