/// @file
/// Internal. Negative controls: a build may break one rule of the design on purpose, and a test
/// that claims to guard that rule must then fail. Ordinary builds break none, at no cost.
#pragma once

namespace lido::detail {

enum class mutation {
  none,
  // free list
  no_tag,       ///< a head carries no tag: ABA is possible
  one_bit_tag,  ///< a head's tag returns after two pushes
  stale_tag,    ///< a push takes its tag from the head of its first attempt
  blind_pop,    ///< a pop swaps a head that it has not walked
  // depot
  early_full,   ///< a magazine is published before its slots are in it
  early_empty,  ///< a magazine is given away before its slots have been read
  // thread cache
  no_heavy_fence,       ///< a thief reads a cache without making its owner's stores visible first
  item_after_top,       ///< a release publishes the new top before the item below it
  no_arbitration,       ///< an owner believes every operation that straddled a theft to be its own
  pop_takes_boundary,   ///< a pop at the position of the last item taken is believed lost
  push_keeps_boundary,  ///< a push that was the last item taken is believed kept
  robbed_ignored,       ///< an owner does not look whether its cache was emptied
  open_low,             ///< a thief does not close the bound of pops
  open_high,            ///< a thief does not close the bound of pushes
  blind_claim,          ///< a thief claims whatever the owner did meanwhile
  blind_hold,           ///< an owner takes hold of its cache whatever a thief did meanwhile
  blind_revoke,         ///< a thief announces its theft whatever became of the cache meanwhile
  blind_withdraw,       ///< a thief that gives up opens the cache whatever became of it meanwhile
  hold_keeps_top,       ///< an owner of a locked cache leaves its failed operation on the guard
  keep_unmoved,         ///< what a flush keeps stays where it was
  same_generation,      ///< a change of the control word leaves its generation alone
  bounds_after_open,    ///< an owner sets the bounds when thieves may already come
  low_when_closed,      ///< a closed cache keeps its bound of pops
  high_when_closed,     ///< a closed cache keeps its bound of pushes
  keep_top,             ///< a closed cache keeps its top
  // owner's side of the slot source
  forget_flush,      ///< an ending thread leaves its cached slots behind
  flush_twice,       ///< an ending thread gives its cached slots away twice
  unsettled_exit,    ///< an ending thread does not take hold of its cache first
  keep_flushed,      ///< what a flush gave away stays in the cache
  lose_surplus,      ///< of a whole magazine for a small cache the rest is dropped
  no_donation,       ///< an owner gives a thief nothing whose theft it cancels
  hide_cache,        ///< the highest number in use is not raised
  unmarked_open,     ///< an owner fills a closed cache without taking hold of it
  drop_older_cells,  ///< a cache that grows gives the cells back that a thief may still read
  hold_anyway,       ///< an owner of a locked cache does not look whether it was robbed
  forget_position,   ///< an owner that finds its closed cache robbed forgets its operation
  // shared side
  unmarked_take,      ///< who takes from the depot does not say that it carries
  unmarked_loot,      ///< a thief does not say that it carries
  one_look,           ///< one look suffices to report exhaustion
  ignore_version,     ///< two looks are equal whatever was pushed between them
  ignore_terms,       ///< two looks are equal whatever was done to caches between them
  careless_look,      ///< the depot is looked at last, and what the caches did meanwhile is ignored
  skip_busy,          ///< a busy cache is taken for one without slots
  skip_revoking,      ///< a cache that is being robbed is taken for one without slots
  overwrite_loot,     ///< the slot that a thief keeps is that of the last cache it emptied
  wild_count,         ///< a thief believes a count that is larger than the room it has seen
  lose_loot,          ///< a thief keeps one slot and forgets the others
  keep_too_much,      ///< of a whole magazine for one who wants less the rest is dropped
  late_take_mark,     ///< who takes from the depot says that it carries when it has taken
  early_take_unmark,  ///< who takes from the depot carries no more before the rest is back
  late_loot_mark,     ///< a thief says that it carries when it has claimed
  early_loot_unmark,  ///< a thief carries no more before the rest of its loot is in the depot
  skip_empty,         ///< an open cache that looks empty is taken for one without slots
  no_take_over,       ///< nobody takes over from a thief that stands still
  refused_fence_ignored,  ///< a thief goes on although its heavy fence was refused
  no_withdrawal,          ///< a thief whose heavy fence was refused leaves its announcement
  // growth
  lose_census,       ///< a shrink forgets one of the slots that it has looked at
  early_retirement,  ///< a segment is given back although one of its slots is out
  early_slots,       ///< slots join before the capacity tells of them
  ignore_resize,     ///< exhaustion is reported whatever happened to the capacity meanwhile
  // waiters
  no_second_look,    ///< who has begun to wait does not look for slots once more
  quiet_waiter,      ///< who has begun to wait runs no fence before it looks
  trust_uncertain,   ///< who could not look everywhere relies on being woken
  push_unwatched,    ///< an owner whose release has opened its cache does not look for waiters
  refill_unwatched,  ///< an owner that has filled its cache does not look for waiters
  pop_unwatched,     ///< an owner whose cache was shut beside an acquire does not look for waiters
  bulk_pop_unwatched,  ///< an owner that has taken several from its cache does not look for waiters
  give_unwatched,      ///< a release past the cache does not look for waiters
  surplus_unwatched,   ///< who took too much from the depot does not look for waiters
  bulk_unwatched,      ///< a release of many does not look for waiters
  watched_unclosed,    ///< an owner whose cache has opened beside a waiter leaves it open
  closed_unwatched,    ///< such an owner closes its cache and does not look for waiters
  unmarked_service,    ///< who serves waiters does not say that it carries
  plain_cancel,        ///< a waiter whose time is up is cancelled whatever a giver does
  swallow_late,        ///< a waiter given a slot as its time was up leaves without it
  stay_linked,         ///< a cancelled waiter stays in the queue
  lose_refused,        ///< a slot that a waiter could no longer be given is forgotten
  ask_ignored,         ///< who leaves the queue does not look whether it was asked to serve
  quiet_cancel,        ///< a waiter that sleeps is stopped and not woken
  late_unlink,         ///< a waiter is taken out of the queue after it has been told
  no_wake_up,          ///< a waiter that sleeps is given a slot and not woken
  early_watch,         ///< a waiter says that it keeps watch before it has looked
  plain_wake,          ///< a waiter that was called forgets what it was given meanwhile
  watch_for_ever,      ///< the watch does not end with the last waiter
  // forks
  survivor_forgotten,  ///< the number of the thread that forked is given to the next one
  lose_missing,        ///< the child forgets what is in the caches of threads that it has not got
  trust_busy,          ///< the child believes a cache whose missing owner was in the middle of it
  trust_moving,        ///< the child takes a segment for one in service that was just to be
  carry_for_ever,      ///< threads that the child has not got go on carrying
  keep_waiters,        ///< threads that the child has not got go on waiting
  // threads and pools
  shared_number,    ///< a number is given to two threads
  stay_registered,  ///< a pool that ends is still told about ending threads
  early_number,     ///< an ending thread frees its number before its caches are flushed
  early_put,        ///< a slot is put back before its object is destroyed
  destroy_twice,    ///< an object is destroyed twice
  skip_destroy,     ///< an object is not destroyed
  keep_made,        ///< of many at once those made before one throws are kept
  lose_unmade,      ///< of many at once the slots behind one that throws are not put back
  lose_on_throw,    ///< a slot whose constructor throws is not put back
  keep_refused,     ///< an object is kept although its deactivation has refused it
  // slot maps
  same_slot_generation,  ///< an erase leaves the generation of the slot alone
  reuse_used_up,         ///< a slot whose generations are used up begins again with the first
  forget_hole,           ///< an erase does not note the hole it leaves
  unlinked_move,         ///< compaction does not tell the table where a value has gone
  skip_between_windows,  ///< a walk over places with holes leaves out the first of a next window
  // concurrent slot maps
  publish_early,          ///< a value can be reached before it is made
  erase_beside_visit,     ///< who erases ends the value although somebody is with it
  enter_anyway,           ///< a visit does not look at the generation
  same_state_generation,  ///< a slot goes back with the generation it had
  claim_ignored,          ///< an evictor takes a victim that another has claimed
  claim_unread,           ///< who ends a value does not look whether its slot is claimed
  leave_doomed,           ///< the last one to leave an erased value does not end it
  ignore_census,          ///< a map is said to be full whatever was taken out to lower its end
  late_end,               ///< the end is lowered when the slots behind it have been given back
  // checked pools
  unfenced_sharing,  ///< who is the first to release what another thread acquired runs no fence
  early_sharing,     ///< others are told that the fence has run before it has
  share_ignored,     ///< a holder does not look whether releases are shared
  late_end_ignored,  ///< who releases what another acquired does not look again after the fence
  // resource pools
  return_unwatched,  ///< who puts a resource back does not look whether anybody waits
  swallow_resource,  ///< a waiter given a resource as it was cancelled leaves without it
  refused_resource,  ///< a resource that a waiter could no longer be given is forgotten
  keep_killed,       ///< who puts back what was killed meanwhile does not end it
  cut_in,            ///< who asks now takes what is idle before those who wait
  wait_at_work,      ///< who waits is given something while its thread makes another one
  back_unlooked,     ///< who waits again after such work does not look for what came meanwhile
  wait_unlooked,     ///< who has begun to wait does not look for idle resources
  forget_reminder,   ///< who is about to fall asleep is taken for one that was told its time
  called_unlooked,   ///< a waiter that was only woken sleeps again without a look
  keep_call,         ///< who gives up does not look what it was woken for
  ignore_overdue,    ///< who was overtaken for too long may be overtaken once more
  serve_one,      ///< a waiter that may no longer be overtaken is given one, whatever else is idle
  keep_pending,   ///< a create that nobody has begun stays when its room is taken back
  end_unwaited,   ///< a pool ends although somebody is about to leave it
  push_in_front,  ///< who begins to wait is put in front of those who wait already
  ask_unlent,     ///< a resource stays idle while the pool asks it
  ask_unannounced,   ///< what is to be asked is told to no thread of the pool
  answer_unoffered,  ///< what has answered the pool is offered to nobody
  ask_with_all,      ///< questions are as many as the pool may have resources
  count_asked,       ///< a question that has its answer goes on counting as under way
  // keyed resource pools
  claim_unwatched,    ///< who begins with a key does not look whether others lose room by that
  acquire_unwatched,  ///< who has got something does not look whether others wait for room
  key_unwatched,      ///< who leaves a key does not look whether others wait for room
  hoarding_key,       ///< what a key does not use is not taken back
  job_unlooked,       ///< who makes something while it waits does not look whether others need room
  unfit_unlooked,     ///< who finds one unfit does not look whether others need its room
  lost_need,          ///< a key that something is taken back from does not count as in need of it
  forgotten_need,     ///< a key whose creates have failed does not come back when the next is due
  early_settlement,   ///< what was taken back is granted anew before it is gone
};

}  // namespace lido::detail

#ifdef LIDO_MUTATION_SEAM
#include LIDO_MUTATION_SEAM
#else

namespace lido::detail {

#ifndef LIDO_MUTATION
#define LIDO_MUTATION none
#endif

inline constexpr mutation active_mutation = mutation::LIDO_MUTATION;

/// Whether this build breaks `rule`. A constant: the rule that is kept leaves no trace in the code.
[[nodiscard]] consteval bool broken(mutation rule) noexcept {
  return active_mutation == rule;
}

}  // namespace lido::detail

#endif
