#include "scenarios/scenario.hpp"
namespace model {
std::span<const scenario> thread_cache_scenarios() { return {}; }
}
