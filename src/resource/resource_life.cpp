#include "lido/resource/resource_life.hpp"

namespace lido::detail {

// relaxed (whole function): numbers; the move at the end publishes them
life_word resource_life::be_born(nanos now, const life_limits& limits, double draw,
                                 std::uint32_t epoch) noexcept {
  expires_.store(end_of_life(now, limits, draw), std::memory_order_relaxed);
  epoch_.store(epoch, std::memory_order_relaxed);
  uses_.store(0, std::memory_order_relaxed);
  used_until(now, limits);
  const life_word seen = word();
  const life_word ticket = seen.with_next_birth().in(life_state::in_use);
  (void)move(seen, ticket);
  return ticket;
}

void resource_life::vanish() noexcept {
  // Only `doom` can come between, once.
  life_word seen = word();
  while (!move(seen, seen.in(life_state::empty))) {
    seen = word();
  }
}

bool resource_life::doom(std::uint64_t birth) noexcept {
  for (;;) {
    const life_word seen = word();
    const bool alive = seen.state() == life_state::idle || seen.state() == life_state::in_use ||
                       seen.state() == life_state::checking;
    if (!alive || seen.birth() != birth) {
      return false;
    }
    if (move(seen, seen.with_doom())) {
      return true;
    }
  }
}

verdict resource_life::judge(nanos now, std::uint32_t epoch) const noexcept {
  using kind = verdict::kind;
  if (word().doomed()) {
    return {kind::retire, destroy_reason::killed};
  }
  if (is_over(now, epoch)) {
    return {kind::retire, now >= expires() ? destroy_reason::too_old : destroy_reason::flushed};
  }
  return {is_fresh(now, epoch) ? kind::fit : kind::validate, destroy_reason::invalid};
}

}  // namespace lido::detail
