// Fuzz target: the kernel of resource pools, judged by its reference model. The first bytes choose
// the pool; the others are events.
#include <span>
#include <string>

#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "resource/kernel/kernel_session.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string problem = lido::test::kernel_session::play({data, size});
  fuzz::check(problem.empty(), problem.c_str());
  return 0;
}
