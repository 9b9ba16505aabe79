/// Two threads meet, of which the second continues.
#include "concurrency/rendezvous.hpp"

#include <array>

#include "checker/plain.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

void second_continues() {
  lido::detail::rendezvous here;
  std::array<plain<int>, 2> done{plain<int>{0}, plain<int>{0}};
  int continued = 0;  // the model runs one thread at a time
  const auto come = [&](std::size_t me) {
    done.at(me).write(1);
    if (here.comes_second()) {
      ++continued;
      require(done.at(0).read() == 1 && done.at(1).read() == 1,
              "the second does not see the first");
    }
  };
  in_threads([&] { come(0); }, [&] { come(1); });
  require(continued == 1, "both continued, or neither");
}

constexpr std::array rendezvous_list{scenario{
    "rendezvous.second_continues", "the second of two continues and sees all", &second_continues}};

}  // namespace

std::span<const scenario> rendezvous_scenarios() {
  return rendezvous_list;
}

}  // namespace model
