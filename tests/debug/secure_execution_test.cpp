// A process that has rights its caller lacks, as a set-user-id program does: the kernel says so by
// a word that the linker's --wrap lets this program make up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include "lido/checked.hpp"
#include "support/misuse_log.hpp"

namespace lido {
namespace {

constinit bool has_foreign_rights = false;

}  // namespace
}  // namespace lido

// Names that the linker gives.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" {
unsigned long __real_getauxval(unsigned long type) noexcept;
unsigned long __wrap_getauxval(unsigned long type) noexcept;
unsigned long __wrap_getauxval(unsigned long type) noexcept {
  return type == AT_SECURE && lido::has_foreign_rights ? 1 : __real_getauxval(type);
}
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

namespace lido {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(SecureExecution, RunsNoProgramThatTheEnvironmentNames) {
  test::misuse_log log(test::misuse_log::lines::yes);
  object_pool<int, policy::checked> pool(4);
  int stranger = 0;
  for (const bool foreign : {true, false}) {
    has_foreign_rights = foreign;
    pool.release(&stranger);
  }
  ASSERT_THAT(log.entries(), SizeIs(2));
  EXPECT_THAT(log.entries()[0].report, Not(HasSubstr("secure_execution_test.cpp:")));
  EXPECT_THAT(log.entries()[1].report, HasSubstr("secure_execution_test.cpp:"));
}

}  // namespace
}  // namespace lido
