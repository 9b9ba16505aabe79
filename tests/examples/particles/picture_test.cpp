// Pictures of particles, and what files keep of them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "decoded.hpp"
#include "picture.hpp"

namespace particles {
namespace {

constexpr gauge empty_bar{.in_use = 0, .capacity = 0, .peak = 1};

int red_at(const image& picture, std::size_t column, std::size_t row) {
  return picture.bytes[(row * picture.width + column) * 3];
}

/// A golden one that does not move; `x` and `y` as the fountain has them.
particle at(float x, float y) {
  return {.x = x, .y = y, .vx = 0, .vy = 0, .number = 1, .age = 30, .lifetime = 60, .jet = 0};
}

TEST(Painter, ShowsAParticleWhereItIs) {
  painter paints(160, 100, 1000);
  paints.add(at(0.3F, 0.5F));
  const image picture = paints.develop(empty_bar);
  EXPECT_GT(red_at(picture, 110, 34), 200);
  EXPECT_LT(red_at(picture, 104, 34), 40);
  EXPECT_LT(red_at(picture, 110, 40), 40);
}

TEST(Painter, ShowsTheReflectionOfAParticleOnTheFloor) {
  painter paints(160, 100, 1000);
  paints.add(at(0, 0.1F));
  const image picture = paints.develop(empty_bar);
  EXPECT_GT(red_at(picture, 80, 93), red_at(picture, 70, 93) + 50);
  EXPECT_LT(red_at(picture, 80, 93), red_at(picture, 80, 74));
}

TEST(Painter, ForgetsWhatWasDeveloped) {
  painter paints(64, 48, 1000);
  const image before = paints.develop(empty_bar);
  paints.add(at(0, 0.5F));
  EXPECT_NE(paints.develop(empty_bar).bytes, before.bytes);
  EXPECT_EQ(paints.develop(empty_bar).bytes, before.bytes);
}

TEST(Painter, SeesNothingOutside) {
  painter paints(64, 48, 1000);
  const image before = paints.develop(empty_bar);
  for (const float far : {-1e9F, -2.0F, 2.0F, 1e9F}) {
    paints.add(at(far, 0.5F));
    paints.add(at(0, far));
  }
  EXPECT_EQ(paints.develop(empty_bar).bytes, before.bytes);
}

TEST(Painter, ShowsHowFullTheMapIs) {
  painter paints(100, 72, 1000);
  const image picture = paints.develop({.in_use = 25, .capacity = 50, .peak = 100});
  EXPECT_GT(red_at(picture, 10, 71), red_at(picture, 40, 71));
  EXPECT_GT(red_at(picture, 40, 71), red_at(picture, 80, 71));
  const image full = paints.develop({.in_use = 50, .capacity = 50, .peak = 100});
  EXPECT_GT(red_at(full, 10, 71), red_at(picture, 10, 71));
}

struct Files : testing::Test {
  Files() : folder(std::filesystem::temp_directory_path() / ("lido_pictures_" + unique())) {
    std::filesystem::create_directories(folder);
  }
  ~Files() override { std::filesystem::remove_all(folder); }

  static std::string unique() {
    return std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "_" +
           std::to_string(testing::UnitTest::GetInstance()->random_seed()) + "_" +
           std::to_string(getpid());
  }

  static image slope(std::size_t shift) {
    image picture{48, 32};
    for (std::size_t i = 0; i < picture.bytes.size(); ++i) {
      const std::size_t column = i / 3 % picture.width;
      picture.bytes[i] = static_cast<std::uint8_t>((column + shift) * (i % 3 + 1));
    }
    return picture;
  }

  std::filesystem::path folder;
};

TEST_F(Files, KeepAPngToTheBit) {
  write_png(slope(0), folder / "slope.png");
  const image after = read_png(folder / "slope.png");
  EXPECT_EQ(after.width, 48U);
  EXPECT_EQ(after.bytes, slope(0).bytes);
}

TEST_F(Files, KeepEveryFrameOfAnAnimation) {
  animation moving(folder / "slope.webp", 48, 32);
  for (std::size_t i = 0; i < 6; ++i) {
    moving.add(slope(i * 6));
  }
  moving.finish();
  const auto frames = read_webp(folder / "slope.webp");
  ASSERT_EQ(frames.size(), 6U);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_NEAR(red_at(frames[i], 20, 10), red_at(slope(i * 6), 20, 10), 16) << "frame " << i;
  }
}

TEST_F(Files, ThatCannotBeWrittenAreNamed) {
  const auto missing = folder / "missing" / "slope.png";
  try {
    write_png(slope(0), missing);
    FAIL() << "written into a folder that is not there";
  } catch (const std::runtime_error& problem) {
    EXPECT_NE(std::string(problem.what()).find(missing.string()), std::string::npos);
  }
  animation moving(folder / "missing" / "slope.webp", 48, 32);
  moving.add(slope(0));
  EXPECT_THROW(moving.finish(), std::runtime_error);
}

}  // namespace
}  // namespace particles
