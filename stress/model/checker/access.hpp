/// @file
/// Accesses to the model's atomics. They serve every type: here, all values are 64 bits wide.
#pragma once

#include <atomic>
#include <cstdint>

#include "checker/execution.hpp"
#include "checker/weakening.hpp"

namespace model {

using std::memory_order;

/// Creates an atomic that only the calling thread knows until it passes the atomic on.
[[nodiscard]] location_id create(std::uint64_t value);
/// Creates an atomic in memory that held zeros before the execution began.
[[nodiscard]] location_id create_zeroed();
void destroy(location_id where) noexcept;

[[nodiscard]] std::uint64_t load(location_id where, memory_order order, code_location from);
void store(location_id where, std::uint64_t value, memory_order order, code_location from);

/// Returns the value before the change; `change` computes the new value.
template <class Change>
std::uint64_t read_modify_write(location_id where, Change change, memory_order order,
                                code_location from);

struct cas_orders {
  memory_order success;
  memory_order failure;
};

/// Returns whether `desired` was stored; if not, sets `expected` to the value read. If `weak` is
/// true, it may fail for no reason.
[[nodiscard]] bool compare_exchange(location_id where, std::uint64_t& expected,
                                    std::uint64_t desired, cas_orders orders, bool weak,
                                    code_location from);

/// Orders the store of a cache's owner before the owner's later accesses (see atomic.hpp of the
/// library).
void light_fence(code_location from);

void full_fence(code_location from);
/// Reaches every thread at some moment before it returns.
void heavy_fence(code_location from);

namespace detail {

/// The store that a read-modify-write reads, and its value.
struct source {
  std::size_t index;
  std::uint64_t value;
};
[[nodiscard]] source begin_modification(location_id where, memory_order& order, code_location from);
void end_modification(location_id where, source read, std::uint64_t value, memory_order order,
                      code_location from);

}  // namespace detail

template <class Change>
std::uint64_t read_modify_write(location_id where, Change change, memory_order order,
                                code_location from) {
  const detail::source read = detail::begin_modification(where, order, from);
  detail::end_modification(where, read, change(read.value), order, from);
  return read.value;
}

}  // namespace model
