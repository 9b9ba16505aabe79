// The lines for StatsD that examples/ makes, in a program whose locale groups digits.
#include "metrics/statsd_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lido/block_resource.hpp>
#include <lido/concurrent_slot_map.hpp>
#include <lido/object_pool.hpp>
#include <locale>
#include <string>
#include <vector>

namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

struct grouping : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  char do_decimal_point() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

class StatsdLines : public ::testing::Test {
 protected:
  std::locale before_ = std::locale::global(std::locale(std::locale(), new grouping));
  void TearDown() override { std::locale::global(before_); }

  lido::registry pools_;
};

TEST_F(StatsdLines, DoNotDependOnTheLocale) {
  const lido::object_pool<int> jobs{{.capacity = 12'345, .name = "jobs", .registry = &pools_}};
  const std::string tags = "|g|#db.client.connection.pool.name:jobs,number:1";
  EXPECT_THAT(
      statsd_lines().of(pools_),
      ElementsAre("db.client.connection.count:12345" + tags +
                  ",db.client.connection.state:idle\n"
                  "db.client.connection.count:0" +
                  tags + ",db.client.connection.state:used\n" + "db.client.connection.max:12345" +
                  tags + "\ndb.client.connection.pending_requests:0" + tags + "\n"));
}

TEST_F(StatsdLines, DoNotDependOnTheLocaleInTimes) {
  lido::resource_pool<int> db([] { return 7; }, {.max_size = 1, .name = "db", .registry = &pools_});
  (void)db.acquire();
  const std::vector<std::string> texts = statsd_lines().of(pools_);
  EXPECT_THAT(texts, ElementsAre(HasSubstr("ms|@1.000000000000|#")));
}

TEST_F(StatsdLines, TellOfWaitsOnlyWhereCallersCanWait) {
  const lido::block_resource nodes{
      {.sizes = {{32, 9}, {64, 9}}, .name = "nodes", .registry = &pools_}};
  const lido::concurrent_slot_map<int> map{{.max_size = 9, .name = "map", .registry = &pools_}};
  EXPECT_THAT(statsd_lines().of(pools_), AllOf(SizeIs(3), Each(HasSubstr(".max:9|g")),
                                               Each(Not(HasSubstr("pending_requests")))));
}

}  // namespace
