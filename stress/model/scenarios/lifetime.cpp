#include "scenarios/scenario.hpp"
namespace model {
std::span<const scenario> lifetime_scenarios() { return {}; }
}
