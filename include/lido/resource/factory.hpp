/// @file
/// Public. What creates, validates, resets and destroys the resources of a pool.
#pragma once

#include <chrono>
#include <concepts>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

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

/// A pool cannot interrupt user code: `create` and `validate` end in time only if they heed this.
struct create_context {
  /// By create_timeout or validate_timeout, and by the acquirer's deadline if it creates itself.
  std::chrono::steady_clock::time_point deadline;
  /// Asked to stop by `close`, `flush`, `replace_factory`, and by the acquirer if it creates
  /// itself.
  std::stop_token stop;
};

/// Thrown by `create` when trying again is of no use: a wrong password, a wrong name. If no
/// resource is left that could come back, it ends all waits, and acquires that come before the next
/// attempt is due.
class permanent_failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a `create` that does not throw returns instead of a resource.
struct create_error {
  std::string text;
  bool permanent = false;  ///< as permanent_failure
};
template <class R>
using create_result = std::variant<R, create_error>;

namespace detail {

template <class T, class R>
concept is_created = std::same_as<T, R> || std::same_as<T, create_result<R>>;

template <class F, class R>
concept creates_with_context = requires(F& factory, const create_context& context) {
  { factory.create(context) } -> is_created<R>;
};
template <class F, class R>
concept creates_alone = requires(F& factory) {
  { factory.create() } -> is_created<R>;
};
template <class F, class R>
concept is_create_function = (std::is_invocable_r_v<R, F&> ||
                              std::is_invocable_r_v<create_result<R>, F&>)&&!creates_alone<F, R> &&
                             !creates_with_context<F, R>;

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
///   bool or void reset(R&)         optional, after a use; false or throws: the pool destroys it
///   void destroy(R&, destroy_reason) noexcept             optional, before the destructor of R
///
/// `create` may also return a create_result<R>. A function of one of these names that fits none of
/// its shapes does not compile. Several threads may call them at once, never two for the same
/// resource, and never while the pool holds a lock. They may use the pool, except to end it.
template <class F, class R>
concept resource_factory = detail::creates_alone<F, R> || detail::creates_with_context<F, R> ||
    detail::is_create_function<F, R>;

}  // namespace lido
