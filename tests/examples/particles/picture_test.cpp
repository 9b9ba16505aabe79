// Light, and its precision in files.
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "decoded.hpp"
#include "picture/film.hpp"
#include "picture/gauge.hpp"
#include "picture/png_file.hpp"
#include "picture/sensor.hpp"
#include "preview.hpp"

namespace particles {
namespace {

constexpr light white{1, 1, 1};

float red_sum(const light_field& field) {
  float sum = 0;
  for (const light& pixel : field.pixels) {
    sum += pixel.red;
  }
  return sum;
}

TEST(Sensor, LosesNoLight) {
  sensor eye(16, 16);
  light_field field(16, 16);
  eye.add(5.3F, 7.8F, white);
  eye.add(8.5F, 8.5F, white);
  eye.develop(field, 1);
  EXPECT_NEAR(red_sum(field), 2, 0.01);
  EXPECT_NEAR(field.at(8, 8).red, 1, 0.001) << "the middle of a pixel";
  EXPECT_NEAR(field.at(4, 7).red, 0.2 * 0.7, 0.001);
}

TEST(Sensor, ForgetsWhatWasDeveloped) {
  sensor eye(16, 16);
  light_field field(16, 16);
  eye.add(5, 5, white);
  eye.develop(field, 1);
  eye.develop(field, 1);
  EXPECT_EQ(red_sum(field), 0);
}

TEST(Sensor, SeesNothingOutside) {
  sensor eye(16, 16);
  light_field field(16, 16);
  for (const float far : {-1e9F, -0.1F, 16.1F, 1e9F}) {
    eye.add(far, 8, white);
    eye.add(8, far, white);
  }
  eye.develop(field, 1);
  EXPECT_EQ(red_sum(field), 0);
}

TEST(Sensor, AddsWhatManyThreadsSee) {
  sensor eye(16, 16);
  light_field field(16, 16);
  tbb::parallel_for(0, 10000, [&eye](int i) { eye.add(4 + static_cast<float>(i % 8), 8, white); });
  eye.develop(field, 1);
  EXPECT_NEAR(red_sum(field), 10000, 1);
}

TEST(Gauge, ShowsHowFullThePoolIs) {
  image picture(100, 72);
  draw_gauge(picture, {.in_use = 25, .capacity = 50, .peak = 100});
  const colour used = picture.at(10, 70);
  const colour unused = picture.at(40, 70);
  const colour absent = picture.at(80, 70);
  EXPECT_GT(used.green, unused.green);
  EXPECT_GT(unused.green, absent.green);
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
    image picture(48, 32);
    for (std::size_t row = 0; row < picture.height; ++row) {
      for (std::size_t column = 0; column < picture.width; ++column) {
        picture.at(column, row) = {static_cast<std::uint8_t>((column + shift) * 4),
                                   static_cast<std::uint8_t>(row * 8), 100};
      }
    }
    return picture;
  }

  std::filesystem::path folder;
};

TEST_F(Files, KeepAPngToTheBit) {
  const image before = slope(0);
  write_png(before, folder / "slope.png");
  const image after = read_png(folder / "slope.png");
  ASSERT_EQ(after.pixels.size(), before.pixels.size());
  for (std::size_t i = 0; i < before.pixels.size(); ++i) {
    ASSERT_EQ(after.pixels[i].red, before.pixels[i].red);
    ASSERT_EQ(after.pixels[i].green, before.pixels[i].green);
    ASSERT_EQ(after.pixels[i].blue, before.pixels[i].blue);
  }
}

TEST_F(Files, KeepEveryFrameOfAnAnimation) {
  film takes({.folder = folder, .name = "slope", .width = 48, .height = 32, .every = 4});
  for (std::size_t i = 0; i < 6; ++i) {
    takes.add(slope(i * 2));
  }
  const auto frames = read_webp(takes.finish());
  ASSERT_EQ(frames.size(), 6U);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_NEAR(frames[i].at(20, 10).red, slope(i * 2).at(20, 10).red, 16) << "frame " << i;
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "slope-0000.png"));
  EXPECT_TRUE(std::filesystem::exists(folder / "slope-0004.png"));
  EXPECT_FALSE(std::filesystem::exists(folder / "slope-0001.png"));
}

TEST_F(Files, ThatCannotBeWrittenAreNamed) {
  const auto missing = folder / "missing" / "slope.png";
  try {
    write_png(slope(0), missing);
    FAIL() << "written into a folder that is not there";
  } catch (const std::runtime_error& problem) {
    EXPECT_NE(std::string(problem.what()).find(missing.string()), std::string::npos);
  }
  film takes({.folder = folder / "missing", .name = "x", .width = 48, .height = 32, .every = 9});
  EXPECT_THROW(takes.add(slope(0)), std::runtime_error);
  EXPECT_THROW(takes.finish(), std::runtime_error);
}

TEST(Preview, PutsTwoPixelsIntoACharacter) {
  image picture(2, 2);
  picture.at(0, 0) = {255, 0, 0};
  picture.at(1, 1) = {0, 0, 7};
  EXPECT_EQ(as_text(picture, 2, 1),
            "\033[38;2;255;0;0;48;2;0;0;0m\u2580\033[38;2;0;0;0;48;2;0;0;7m\u2580\033[0m\n");
}

}  // namespace
}  // namespace particles
