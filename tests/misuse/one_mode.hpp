/// @file
/// Misuses after which a call can continue, for a file with assertions and one without.
#pragma once

void note_misuse(const char* message) noexcept;
#define LIDO_ASSERT_HANDLER(condition, message) ::note_misuse(message)

#include <chrono>

#include "lido/lido.hpp"

/// Commit the misuses below, in a file with assertions and in one without.
void misuse_with_assertions();
void misuse_without_assertions();
/// Returns true if a map refuses to insert a range of its own values, in a file without assertions.
bool own_range_is_refused();

namespace lido::test {

/// Commits three misuses of members that are no part of an inlined function.
[[maybe_unused]] static void misuse_once_each() {
  resource_pool<int> resources([] { return 1; }, {.max_size = 1});
  (void)resources.try_acquire_for(std::chrono::minutes(1)).failure();
  slot_map<int> map;
  const auto handle = map.emplace(1);
  map.for_each([&](int&) {
    (void)map.values();
    map.swap(handle, handle);
  });
}

/// Ends a pool while one of its objects is in use.
[[maybe_unused]] static void leak_once() {
  object_pool<int> pool({.capacity = 1, .name = "jobs"});
  (void)pool.try_acquire_ptr(1);
}

}  // namespace lido::test
