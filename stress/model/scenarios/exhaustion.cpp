#include "scenarios/scenario.hpp"
namespace model {
std::span<const scenario> exhaustion_scenarios() { return {}; }
}
