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
  open_bounds,          ///< a thief does not close the bounds
  blind_claim,          ///< a thief claims whatever the owner did meanwhile
  blind_hold,           ///< an owner takes hold of its cache whatever a thief did meanwhile
  same_generation,      ///< a change of the control word leaves its generation alone
  bounds_after_open,    ///< an owner sets the bounds when thieves may already come
  hits_when_closed,     ///< a closed cache keeps the bounds it had
  // owner's side of the slot source
  forget_flush,    ///< an ending thread leaves its cached slots behind
  flush_twice,     ///< an ending thread gives its cached slots away twice
  unsettled_exit,  ///< an ending thread does not take hold of its cache first
  keep_flushed,    ///< what a flush gave away stays in the cache
  lose_surplus,    ///< of a whole magazine for a small cache the rest is dropped
  no_donation,     ///< an owner gives a thief nothing whose theft it cancels
  hide_cache,      ///< the highest number in use is not raised
  // shared side
  unmarked_take,   ///< who takes from the depot does not say that it carries
  unmarked_loot,   ///< a thief does not say that it carries
  one_look,        ///< one look suffices to report exhaustion
  ignore_version,  ///< two looks are equal whatever was pushed between them
  ignore_terms,    ///< two looks are equal whatever was done to caches between them
  careless_look,   ///< the depot is looked at last, and what the caches did meanwhile is ignored
  skip_busy,       ///< a busy cache is taken for one without slots
  skip_revoking,   ///< a cache that is being robbed is taken for one without slots
  lose_loot,       ///< a thief keeps one slot and forgets the others
  // threads and pools
  shared_number,    ///< a number is given to two threads
  stay_registered,  ///< a pool that ends is still told about ending threads
  lose_on_throw,    ///< a slot whose constructor throws is not put back
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
[[nodiscard]] constexpr bool broken(mutation rule) noexcept {
  return active_mutation == rule;
}

}  // namespace lido::detail

#endif
