/// @file
/// Public entry: `policy::checked` and the handler that its findings go to.
#pragma once

#include "lido/base/words_free.hpp"

#include <cstddef>

#include "lido/debug/fill_pattern.hpp"
#include "lido/debug/misuse.hpp"
#include "lido/debug/slot_checks.hpp"
#include "lido/object_pool.hpp"

namespace lido::policy {

/// As `checked`, with more of large objects watched for writes after their release: all of an
/// object of up to `Bytes` bytes. An acquire and a release go through what is watched.
template <std::size_t Bytes>
struct checked_up_to {
  static_assert(Bytes >= detail::fill_pattern::least_whole,
                "lido: at least 64 bytes of a checked object are watched");
  template <std::size_t Size>
  using checks = detail::slot_checks<Size, Bytes>;
};

/// Every release is checked, free slots are watched, and the end of the pool reports what is still
/// in use; see set_misuse_handler. The same in every build type. Of a free slot of more than 64
/// bytes the first and last sixteen are watched, and a window of 32 that moves from use to use.
struct checked : checked_up_to<detail::fill_pattern::least_whole> {};

}  // namespace lido::policy

#include "lido/base/words_back.hpp"
