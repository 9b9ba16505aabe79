#include "lido/concurrency/backoff.hpp"

#include <thread>

namespace lido::detail {

void yield_thread() noexcept { std::this_thread::yield(); }

}  // namespace lido::detail
