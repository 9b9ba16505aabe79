/// @file
/// Public. Misuse that a checked pool finds, and the handler that receives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lido/platform/compiler.hpp"  // refuses C++17

namespace lido::inline v0 {

/// Kinds of misuse that a checked pool can find.
enum class misuse_kind : std::uint8_t {
  double_release,       ///< the object is not in use
  foreign_pointer,      ///< the pointer lies in neither a live nor a remembered checked pool
  inside_slot,          ///< the pointer lies in the pool, but at the start of no slot
  wrong_pool,           ///< the pointer lies in another checked pool that is alive
  dead_pool,            ///< the pool was destroyed, or the pointer lies in a destroyed pool
  write_after_release,  ///< a free slot was written to
  leak,                 ///< objects are still in use although none should be
};

/// Returns a description of `kind` in two or three words, for a log.
[[nodiscard]] std::string_view to_string(misuse_kind kind) noexcept;

/// A misuse that a checked pool has found. The whole struct, including its text, is valid only
/// during the call to the handler.
///
/// `object` is the pointer that was passed to a release, or nullptr for an acquire from a dead
/// pool. For a write it is the object whose slot was written to. For a leak it is the object in use
/// with the lowest address, or nullptr from `testing::leak_check`, which only counts.
struct misuse {
  /// What has happened.
  misuse_kind kind;
  std::string_view pool_name;  ///< name of the pool that was called, as far as known
  const void* object;          ///< see above
  std::size_t count;           ///< number of objects concerned
  std::string_view report;     ///< text: what happened, which thread, where, the slot's last events
};

/// Receives every misuse, in the thread that found it. That thread holds no lock of the library
/// during the call.
///
/// Must be thread-safe and must not throw, since release is noexcept. It may end the program, or
/// return. If it returns, a wrong release has no effect: the object is not destroyed, and no slot
/// is lost or entered in the pool twice. An acquire that found its slot overwritten returns that
/// slot. The destructor of a pool that found a leak or a write completes as usual.
/// On a dead pool, try_acquire and similar functions return nothing. For any other
/// acquire from a dead pool, the handler must not return. The handler may use pools; if it misuses
/// one, it is called again.
using misuse_handler = void (*)(const misuse&) noexcept;

/// Replaces the handler of the whole process and returns the previous one; nullptr means the
/// default, which writes the report to stderr and calls std::abort. Thread-safe.
misuse_handler set_misuse_handler(misuse_handler handler) noexcept;

namespace detail {

/// Calls the current handler.
void hand_over(const misuse& what) noexcept;

}  // namespace detail
}  // namespace lido::inline v0
