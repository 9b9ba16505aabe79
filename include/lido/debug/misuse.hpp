/// @file
/// Public. What a checked pool says about wrong use, and to which handler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lido::inline v0 {

/// What a checked pool can find.
enum class misuse_kind : std::uint8_t {
  double_release,       ///< the object is not in use
  foreign_pointer,      ///< the pointer lies in no checked pool, alive or remembered
  inside_slot,          ///< the pointer lies in the pool, but at the start of no slot
  wrong_pool,           ///< the pointer lies in another checked pool that is alive
  dead_pool,            ///< the pool has ended, or the pointer lies where one was that has
  write_after_release,  ///< a free slot was written to
  leak,                 ///< objects are in use although they should not be any more
};

/// Two or three words for a log.
[[nodiscard]] std::string_view to_string(misuse_kind kind) noexcept;

/// One finding. All of it, the text too, ends with the call of the handler.
///
/// `object` is the pointer that was passed to a release, nullptr for an acquire from a dead pool.
/// Of a write it is the object whose slot was written to. Of a leak it is the object in use that
/// has the lowest address, or nullptr from `testing::leak_check`, which only counts.
struct misuse {
  misuse_kind kind;
  std::string_view pool_name;  ///< of the pool that was called, as far as it is known
  const void* object;          ///< see above
  std::size_t count;           ///< how many objects it is about
  std::string_view report;     ///< lines of text: what, which thread, where, the slot's last events
};

/// Hears of every misuse, in the thread that found it, and with no lock of the library held.
///
/// Must be thread-safe and must not throw, since release is noexcept. It may end the program, or
/// return. Then a release has no effect: the object is not destroyed, no slot is lost or twice in
/// the pool. An acquire goes on with a slot that is whole again, and a destructor goes on. From a
/// dead pool try_acquire and its like get nothing; other acquires must not go on. It may use pools;
/// a misuse in there calls it again.
using misuse_handler = void (*)(const misuse&) noexcept;

/// Replaces the handler of the whole process and returns the one before; nullptr stands for the
/// default, which writes the report to stderr and calls std::abort. Thread-safe.
misuse_handler set_misuse_handler(misuse_handler handler) noexcept;

namespace detail {

/// Calls the handler.
void hand_over(const misuse& what) noexcept;

}  // namespace detail
}  // namespace lido::inline v0
