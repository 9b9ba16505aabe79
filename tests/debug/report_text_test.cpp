#include "../../src/debug/report_text.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace lido::detail {
namespace {

TEST(ReportText, TakesTheLargestNumbers) {
  report_text text;
  (text << std::numeric_limits<std::uint64_t>::max() << " ")
      .hex(std::numeric_limits<std::uintptr_t>::max());
  EXPECT_EQ(text.view(), "18446744073709551615 0xffffffffffffffff");
}

TEST(ReportText, CutsOffWordsAndNumbersThatDoNotFit) {
  report_text full;
  const std::size_t size = (full << std::string(100'000, 'x')).view().size();
  report_text text;
  text << std::string(size - 10, 'x') << "object " << std::uint64_t{4711} << "!";
  EXPECT_EQ(text.view().substr(size - 10), "object 471");
}

TEST(ReportText, AnUnknownAddressHasNoCommand) {
  report_text text;
  EXPECT_EQ(text.where({}).commands().view(), "an unknown code address");
}

TEST(ReportText, AThreadThatIsNotWrittenDownYetHasNoNumber) {
  report_text text;
  EXPECT_EQ(text.thread(0).view(), "some thread");
}

}  // namespace
}  // namespace lido::detail
