// Random events, judged by the reference model.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "resource/kernel/kernel_session.hpp"

namespace lido {
namespace {

TEST(KernelRandom, TheKernelDoesWhatItsModelAllows) {
  constexpr std::uint32_t most = 150'000;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t seed = 1; seed <= most && std::chrono::steady_clock::now() < end; ++seed) {
    std::minstd_rand random(seed);
    bytes.resize(30 + random() % 270);
    for (std::uint8_t& byte : bytes) {
      byte = static_cast<std::uint8_t>(random() >> 8U);
    }
    if (!test::kernel_session::play(bytes).empty()) {
      std::string log;
      const std::string problem = test::kernel_session::play(bytes, &log);
      FAIL() << problem << " (seed " << seed << ")\n" << log;
    }
  }
}

}  // namespace
}  // namespace lido
