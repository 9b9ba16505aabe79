#include "mutants/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace model {

namespace {

using lido::detail::mutation;

constexpr std::array rules{
    rule{mutation::no_tag, "no_tag", "a head carries no tag: ABA is possible"},
    rule{mutation::one_bit_tag, "one_bit_tag", "a head's tag returns after two pushes"},
    rule{mutation::stale_tag, "stale_tag",
         "a push takes its tag from the head of its first attempt"},
    rule{mutation::blind_pop, "blind_pop", "a pop swaps a head that it has not walked"},
    rule{mutation::early_full, "early_full", "a magazine is published before its slots are in it"},
    rule{mutation::early_empty, "early_empty",
         "a magazine is given away before its slots have been read"},
    rule{mutation::no_heavy_fence, "no_heavy_fence",
         "a thief reads a cache without making its owner's stores visible first"},
    rule{mutation::item_after_top, "item_after_top",
         "a release publishes the new top before the item below it"},
    rule{mutation::no_arbitration, "no_arbitration",
         "an owner believes every operation that straddled a theft to be its own"},
    rule{mutation::pop_takes_boundary, "pop_takes_boundary",
         "a pop at the position of the last item taken is believed lost"},
    rule{mutation::push_keeps_boundary, "push_keeps_boundary",
         "a push that was the last item taken is believed kept"},
    rule{mutation::robbed_ignored, "robbed_ignored",
         "an owner does not look whether its cache was emptied"},
    rule{mutation::open_bounds, "open_bounds", "a thief does not close the bounds"},
    rule{mutation::blind_claim, "blind_claim", "a thief claims whatever the owner did meanwhile"},
    rule{mutation::blind_hold, "blind_hold",
         "an owner takes hold of its cache whatever a thief did meanwhile"},
    rule{mutation::same_generation, "same_generation",
         "a change of the control word leaves its generation alone"},
    rule{mutation::bounds_after_open, "bounds_after_open",
         "an owner sets the bounds when thieves may already come"},
    rule{mutation::hits_when_closed, "hits_when_closed", "a closed cache keeps the bounds it had"},
    rule{mutation::forget_flush, "forget_flush", "an ending thread leaves its cached slots behind"},
    rule{mutation::flush_twice, "flush_twice",
         "an ending thread gives its cached slots away twice"},
    rule{mutation::unsettled_exit, "unsettled_exit",
         "an ending thread does not take hold of its cache first"},
    rule{mutation::keep_flushed, "keep_flushed", "what a flush gave away stays in the cache"},
    rule{mutation::lose_surplus, "lose_surplus",
         "of a whole magazine for a small cache the rest is dropped"},
    rule{mutation::no_donation, "no_donation",
         "an owner gives a thief nothing whose theft it cancels"},
    rule{mutation::hide_cache, "hide_cache", "the highest number in use is not raised"},
    rule{mutation::unmarked_take, "unmarked_take",
         "who takes from the depot does not say that it carries"},
    rule{mutation::unmarked_loot, "unmarked_loot", "a thief does not say that it carries"},
    rule{mutation::one_look, "one_look", "one look suffices to report exhaustion"},
    rule{mutation::ignore_version, "ignore_version",
         "two looks are equal whatever was pushed between them"},
    rule{mutation::ignore_terms, "ignore_terms",
         "two looks are equal whatever was done to caches between them"},
    rule{mutation::careless_look, "careless_look",
         "the depot is looked at last, and what the caches did meanwhile is ignored"},
    rule{mutation::skip_busy, "skip_busy", "a busy cache is taken for one without slots"},
    rule{mutation::skip_revoking, "skip_revoking",
         "a cache that is being robbed is taken for one without slots"},
    rule{mutation::lose_loot, "lose_loot", "a thief keeps one slot and forgets the others"},
    rule{mutation::lose_census, "lose_census",
         "a shrink forgets one of the slots that it has looked at"},
    rule{mutation::early_retirement, "early_retirement",
         "a segment is given back although one of its slots is out"},
    rule{mutation::ignore_resize, "ignore_resize",
         "exhaustion is reported whatever happened to the capacity meanwhile"},
    rule{mutation::no_second_look, "no_second_look",
         "who has begun to wait does not look for slots once more"},
    rule{mutation::quiet_waiter, "quiet_waiter",
         "who has begun to wait runs no fence before it looks"},
    rule{mutation::open_unwatched, "open_unwatched",
         "an owner that has opened its cache does not look for waiters"},
    rule{mutation::give_unwatched, "give_unwatched",
         "a release past the cache does not look for waiters"},
    rule{mutation::surplus_unwatched, "surplus_unwatched",
         "who took too much from the depot does not look for waiters"},
    rule{mutation::unmarked_service, "unmarked_service",
         "who serves waiters does not say that it carries"},
    rule{mutation::plain_cancel, "plain_cancel",
         "a waiter whose time is up is cancelled whatever a giver does"},
    rule{mutation::swallow_late, "swallow_late",
         "a waiter given a slot as its time was up leaves without it"},
    rule{mutation::stay_linked, "stay_linked", "a cancelled waiter stays in the queue"},
    rule{mutation::lose_refused, "lose_refused",
         "a slot that a waiter could no longer be given is forgotten"},
    rule{mutation::ignore_census, "ignore_census",
         "an insert is refused although the slots are in a census"},
    rule{mutation::late_end, "late_end",
         "the end of walks is lowered when others can have the slots behind it"},
    rule{mutation::erase_beside_visit, "erase_beside_visit",
         "who erases ends the value although somebody is with it"},
    rule{mutation::enter_anyway, "enter_anyway", "a visit does not look at the generation"},
    rule{mutation::same_state_generation, "same_state_generation",
         "a slot of a map goes back with the generation it had"},
    rule{mutation::leave_doomed, "leave_doomed",
         "the last one to leave an erased value does not end it"},
    rule{mutation::ask_ignored, "ask_ignored",
         "who leaves the queue does not look whether it was asked to serve"},
    rule{mutation::no_wake_up, "no_wake_up", "a waiter that sleeps is given a slot and not woken"},
    rule{mutation::early_watch, "early_watch",
         "a waiter says that it keeps watch before it has looked"},
    rule{mutation::watch_for_ever, "watch_for_ever", "the watch does not end with the last waiter"},
    rule{mutation::shared_number, "shared_number", "a number is given to two threads"},
    rule{mutation::stay_registered, "stay_registered",
         "a pool that ends is still told about ending threads"},
    rule{mutation::lose_on_throw, "lose_on_throw",
         "a slot whose constructor throws is not put back"},
    rule{mutation::return_unwatched, "return_unwatched",
         "who puts a resource back does not look whether anybody waits"},
    rule{mutation::refused_resource, "refused_resource",
         "a resource that a waiter could no longer be given is forgotten"},
    rule{mutation::wait_unlooked, "wait_unlooked",
         "who has begun to wait does not look for idle resources"},
    rule{mutation::end_unwaited, "end_unwaited",
         "a pool ends although somebody is about to leave it"},
    rule{mutation::key_unwatched, "key_unwatched",
         "who leaves a key does not look whether others wait for room"},
    rule{mutation::hoarding_key, "hoarding_key", "what a key does not use is not taken back"},
    rule{mutation::early_settlement, "early_settlement",
         "what was taken back is granted anew before it is gone"},
};

}  // namespace

std::span<const rule> all_rules() {
  return rules;
}

void break_rule(std::string_view name) {
  lido::detail::active_mutation = mutation::none;
  if (name == "none") {
    return;
  }
  const auto found =
      std::find_if(rules.begin(), rules.end(), [name](const rule& r) { return r.name == name; });
  if (found == rules.end()) {
    throw std::invalid_argument(fmt::format("there is no rule '{}'", name));
  }
  lido::detail::active_mutation = found->which;
}

}  // namespace model
