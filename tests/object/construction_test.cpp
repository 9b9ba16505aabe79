#include "lido/object/construction.hpp"
#include "support/optimiser.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace lido::detail {
namespace {

struct point {
  int x;
  int y;
};

struct noisy {
  noisy() noexcept(false) {}  // NOLINT(modernize-use-equals-default): that would be noexcept
  explicit noisy(int /*value*/) noexcept {}
};

/// Memory for one T whose bytes are all 0x5A.
template <class T>
class filled_place {
 public:
  filled_place() {
    std::memset(bytes_.data(), 0x5A, sizeof(T));
    test::keep_bytes(bytes_.data());  // the bytes must survive optimisation
  }
  void* get() { return bytes_.data(); }

 private:
  alignas(T) std::array<std::byte, sizeof(T)> bytes_;
};

TEST(Make, WithoutArgumentsValueInitialises) {
  filled_place<int> slot;
  EXPECT_EQ(*make<int>(slot.get()), 0);
}

TEST(Make, WithoutArgumentsValueInitialisesAggregates) {
  filled_place<point> slot;
  const point* const made = make<point>(slot.get());
  EXPECT_EQ(made->x, 0);
  EXPECT_EQ(made->y, 0);
}

TEST(Make, DefaultInitKeepsTheBytesOfATrivialObject) {
  filled_place<unsigned> slot;
  const unsigned* const made = make<unsigned>(slot.get(), default_init);
  test::keep_bytes(made);
  EXPECT_EQ(*made, 0x5A5A5A5AU);
}

TEST(Make, DefaultInitCallsADefaultConstructor) {
  filled_place<std::string> slot;
  auto* const made = make<std::string>(slot.get(), default_init);
  EXPECT_EQ(*made, "");
  std::destroy_at(made);
}

TEST(Make, AggregateTakesItsMembers) {
  filled_place<point> slot;
  const point* const made = make<point>(slot.get(), 1, 2);
  EXPECT_EQ(made->x, 1);
  EXPECT_EQ(made->y, 2);
}

TEST(Make, ConstructorIsPreferredToAList) {
  filled_place<std::vector<int>> slot;
  auto* const made = make<std::vector<int>>(slot.get(), 3U, 7);
  EXPECT_EQ(made->size(), 3U);
  std::destroy_at(made);
}

TEST(Make, ArgumentsAreForwarded) {
  filled_place<std::unique_ptr<int>> slot;
  auto owner = std::make_unique<int>(9);
  auto* const made = make<std::unique_ptr<int>>(slot.get(), std::move(owner));
  EXPECT_EQ(**made, 9);
  std::destroy_at(made);
}

TEST(Make, ReturnsTheObjectInItsSlot) {
  filled_place<int> slot;
  EXPECT_EQ(make<int>(slot.get(), 4), slot.get());
}

TEST(Make, IsNoexceptWhereTheConstructorIs) {
  EXPECT_FALSE((makes_nothrow<noisy>));
  EXPECT_FALSE((makes_nothrow<noisy, const default_init_t&>));
  EXPECT_TRUE((makes_nothrow<noisy, int>));
  EXPECT_TRUE((makes_nothrow<int>));
  EXPECT_TRUE((makes_nothrow<int, default_init_t>));
}

}  // namespace
}  // namespace lido::detail
