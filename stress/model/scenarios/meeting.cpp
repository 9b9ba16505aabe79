/// Two threads meet, of which the second continues.
#include "resource/meeting.hpp"

#include <array>

#include "checker/plain.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

void second_goes_on() {
  lido::detail::meeting here;
  std::array<plain<int>, 2> done{plain<int>{0}, plain<int>{0}};
  int went_on = 0;  // the model runs one thread at a time
  const auto come = [&](std::size_t me) {
    done.at(me).write(1);
    if (here.comes_second()) {
      ++went_on;
      require(done.at(0).read() == 1 && done.at(1).read() == 1,
              "the second does not see the first");
    }
  };
  in_threads([&] { come(0); }, [&] { come(1); });
  require(went_on == 1, "both went on, or nobody");
}

constexpr std::array meeting_list{
    scenario{"meeting.second_goes_on", "one of two goes on and sees all", &second_goes_on}};

}  // namespace

std::span<const scenario> meeting_scenarios() {
  return meeting_list;
}

}  // namespace model
