#include "../../src/debug/report_text.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace lido::detail {
namespace {

TEST(ReportText, TakesTheLargestNumbers) {
  fixed_text<64> text;
  (text << std::numeric_limits<std::uint64_t>::max() << " ")
      .hex(std::numeric_limits<std::uintptr_t>::max());
  EXPECT_EQ(text.view(), "18446744073709551615 0xffffffffffffffff");
}

TEST(ReportText, CutsOffWhatDoesNotFit) {
  fixed_text<8> text;
  text << "object 7";
  EXPECT_EQ((text << "!" << std::uint64_t{9}).view(), "object 7");
}

// Of a number in the room that is left, the room would show what it had there before.
TEST(ReportText, CutsOffNumbersAsItDoesWords) {
  fixed_text<10> text;
  text << "object " << std::uint64_t{4711};
  EXPECT_EQ(text.view(), "object 471");
}

}  // namespace
}  // namespace lido::detail
