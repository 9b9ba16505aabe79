/// @file
/// Internal. Negative controls: a build may break one rule of the design on purpose, and a test
/// that claims to guard that rule must then fail. Ordinary builds break none, at no cost.
#pragma once

namespace lido::detail {

enum class mutation {
  none,
  no_tag,          ///< a free list head carries no tag: ABA is possible
  no_heavy_fence,  ///< a thief reads a cache without making its owner's stores visible first
  item_after_top,  ///< a release publishes the new top before the item below it
  no_arbitration,  ///< an owner believes every operation that straddled a theft to be its own
  forget_flush,    ///< an ending thread leaves its cached slots behind
  single_look,     ///< an acquire believes that the pool is exhausted after one look around
};

#ifndef LIDO_MUTATION
#define LIDO_MUTATION none
#endif

inline constexpr mutation active_mutation = mutation::LIDO_MUTATION;

}  // namespace lido::detail
