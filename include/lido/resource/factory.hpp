/// @file
/// Public. What makes, checks, cleans and ends the resources of a pool.
#pragma once

#include <chrono>
#include <concepts>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>

namespace lido {

/// Why a resource is destroyed.
enum class destroy_reason {
  invalid,        ///< validate said no, or threw
  reset_refused,  ///< reset said no, or threw
  too_old,        ///< max_lifetime
  idle_too_long,  ///< idle_timeout
  used_up,        ///< max_uses
  discarded,      ///< by its user
  killed,         ///< by `kill`
  flushed,        ///< made before the last `flush` or `replace_factory`
  surplus,        ///< the pool was made smaller
  closed,         ///< the pool was closed
};

inline constexpr int destroy_reasons = 10;

/// "too old" and so on.
[[nodiscard]] std::string_view to_string(destroy_reason reason) noexcept;

/// What a factory may look at while it makes or checks a resource. A pool cannot interrupt user
/// code: that these limits hold is up to the factory.
struct create_context {
  /// When the pool would like an answer at the latest: now plus create_timeout or validate_timeout.
  std::chrono::steady_clock::time_point deadline;
  /// Asked to stop when the pool is closed.
  std::stop_token stop;
};

/// Thrown by `create` when trying again is of no use: a wrong password, a wrong name. If no
/// resource is left that could come back, not even one that is being made, those who wait are told
/// at once, and so is whoever comes before the next attempt is due. Otherwise they go on waiting,
/// and are told if the last one goes before that.
class permanent_failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

template <class F, class R>
concept creates_with_context = requires(F& factory, const create_context& context) {
  { factory.create(context) } -> std::same_as<R>;
};
template <class F, class R>
concept creates_alone = requires(F& factory) {
  { factory.create() } -> std::same_as<R>;
};
template <class F, class R>
concept is_create_function =
    std::is_invocable_r_v<R, F&> && !creates_alone<F, R> && !creates_with_context<F, R>;

template <class F, class R>
concept validates = requires(F& factory, R& resource) {
  { factory.validate(resource) } -> std::same_as<bool>;
};
template <class F, class R>
concept validates_with_context = requires(F& factory, R& resource, const create_context& context) {
  { factory.validate(resource, context) } -> std::same_as<bool>;
};
template <class F, class R>
concept resets = requires(F& factory, R& resource) {
  factory.reset(resource);
};
template <class F, class R>
concept may_refuse = requires(F& factory, R& resource) {
  { factory.reset(resource) } -> std::same_as<bool>;
};
template <class F, class R>
concept destroys = requires(F& factory, R& resource, destroy_reason reason) {
  factory.destroy(resource, reason);
};

}  // namespace detail

/// What a `resource_pool<R>` is given: a function that returns an R, or an object with
///
///   R    create()  or  create(const create_context&)   throws: the pool tries again later
///   bool validate(R&)  or  validate(R&, const create_context&)            optional; throws: false
///   bool or void reset(R&)        optional, before others may have it; false or throws: not again
///   void destroy(R&, destroy_reason) noexcept             optional, before the destructor of R
///
/// A function of one of these names that fits none of its shapes does not compile.
///
/// All may be called from several threads at once, never two for the same resource, and never
/// while the pool holds a lock. They may use the pool, but for closing or ending it. A thread that
/// is cancelled (pthread_cancel) in one of them ends at its next cancellation point behind it.
template <class F, class R>
concept resource_factory = detail::creates_alone<F, R> || detail::creates_with_context<F, R> ||
    detail::is_create_function<F, R>;

}  // namespace lido
