#include "resource/kernel/fake_core.hpp"

#include <utility>

#include "lido/resource/idle_cache.hpp"

namespace {

lido::test::release_path last_path = lido::test::release_path::fast;

}  // namespace

lido::test::release_path lido::test::take_release_path() noexcept {
  return std::exchange(last_path, release_path::fast);
}

namespace lido::detail {

void idle_cache::release_slow(const slot_grant& /*grant*/, bool /*refused*/) noexcept {
  last_path = test::release_path::slow;
}
void idle_cache::release_marked(const slot_grant& /*grant*/) noexcept {
  last_path = test::release_path::marked;
}
void idle_cache::report_idle(leaving_guard& leaving) noexcept {
  last_path = test::release_path::idle;
  leaving.end();
}

}  // namespace lido::detail
