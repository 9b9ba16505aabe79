/// @file
/// Public. Factories, which create, validate, reset and destroy the resources of a pool.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "lido/base/callback.hpp"
#include "lido/base/durations.hpp"
#include "lido/base/error.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/named_member.hpp"

namespace lido::inline v0 {

/// Why a resource is destroyed.
enum class destroy_reason {
  invalid,        ///< validate returned false, or threw
  reset_refused,  ///< reset returned false, or threw
  too_old,        ///< reached max_lifetime
  idle_too_long,  ///< reached idle_timeout
  used_up,        ///< reached max_uses
  discarded,      ///< discarded by its user, or by an exception
  killed,         ///< destroyed by `kill`
  flushed,        ///< made before the last `flush` or `replace_factory`
  surplus,        ///< the pool was made smaller
  closed,         ///< the pool was closed
};

/// Number of values of destroy_reason.
inline constexpr int destroy_reasons = 10;

/// What `flush` and `kill` do about resources that are still in use.
enum class ongoing_uses : std::uint8_t {
  finish,  ///< let the use finish: the resource is destroyed when it comes back
  /// Call the factory's `interrupt`, which ends the user's wait, and then do what `finish` does.
  interrupt,
};

/// Returns the reason as text, such as "too old".
[[nodiscard]] std::string_view to_string(destroy_reason reason) noexcept;

/// The limits of a call of `create` or `validate`. The call ends in time only if the function heeds
/// them, since a pool cannot interrupt user code.
struct create_context {
  /// The end of create_timeout or validate_timeout. If the acquirer runs the call itself, the
  /// acquirer's own deadline applies if that is sooner.
  std::chrono::steady_clock::time_point deadline;
  /// The token through which `close`, `flush` and `replace_factory` request a stop. If the acquirer
  /// runs the call itself, the acquirer's own stop token also requests one.
  std::stop_token stop;
};

/// Thrown by `create` when a retry is useless, for example because a password or a name is wrong.
/// If no resource is left that could come back, all waiters fail, and so do acquires that begin
/// before the next attempt is due.
class permanent_failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a `create` returns if it fails without throwing.
struct create_error {
  /// Message for the error of an acquire.
  std::string text;
  bool permanent = false;  ///< has the effect of a permanent_failure
};
/// The result of a `create` that does not throw: the resource, or why there is none.
template <class R>
using create_result = std::variant<R, create_error>;

namespace detail {

template <class T, class R>
concept is_created = std::same_as<T, R> || std::same_as<T, create_result<R>>;

// `Key` is the type of the first argument of `create` in a keyed pool.
template <class F, class R, class... Key>
concept creates_with_context = requires(F& factory, const create_context& context,
                                        const Key&... key) {
  { factory.create(key..., context) } -> is_created<R>;
};
template <class F, class R, class... Key>
concept creates = creates_with_context<F, R, Key...> || requires(F& factory, const Key&... key) {
  { factory.create(key...) } -> is_created<R>;
};
template <class F, class R, class... Key>
concept is_create_function =
    (std::is_invocable_r_v<R, F&, const Key&...> ||
     std::is_invocable_r_v<create_result<R>, F&, const Key&...>)&&!creates<F, R, Key...>;
template <class F, class R, class... Key>
concept is_factory = creates<F, R, Key...> || is_create_function<F, R, Key...>;

template <class F, class R>
concept validates_with_context = requires(F& factory, R& resource, const create_context& context) {
  { factory.validate(resource, context) } -> std::same_as<bool>;
};
template <class F, class R>
concept validates = validates_with_context<F, R> || requires(F& factory, R& resource) {
  { factory.validate(resource) } -> std::same_as<bool>;
};
template <class F, class R>
concept may_refuse = requires(F& factory, R& resource) {
  { factory.reset(resource) } -> std::same_as<bool>;
};
template <class F, class R>
concept resets = may_refuse<F, R> || requires(F& factory, R& resource) {
  { factory.reset(resource) } -> std::same_as<void>;
};
template <class F, class R>
concept judges = requires(F& factory, R& resource, const std::exception& thrown) {
  { factory.is_clean_after(resource, thrown) } -> std::same_as<bool>;
};
template <class F, class R>
concept interrupts = requires(F& factory, R& resource) {
  { factory.interrupt(resource) } -> std::same_as<void>;
  requires noexcept(factory.interrupt(resource));
};
template <class F, class R>
concept destroys = requires(F& factory, R& resource, destroy_reason reason) {
  factory.destroy(resource, reason);
};

/// Throws std::invalid_argument if `callable` is null.
template <class F>
void refuse_nothing(std::string_view pool, const char* role, const F& callable) {
  if constexpr (may_be_nothing<F>) {
    if (callable == nullptr) {
      throw_invalid_option(pool, std::string(role) + " is a function that is null");
    }
  }
}

/// Returns a factory that all keys can share, for `make_hooks`. A static_assert rejects an F that
/// does not create an R. Other static_asserts reject a function that has the name of a hook but the
/// wrong signature, since such a function would be ignored. Throws std::invalid_argument if
/// `factory` is null.
template <class R, class... Key, class F>
[[nodiscard]] std::shared_ptr<F> share_factory(std::string_view pool, F factory) {
  static_assert(is_factory<F, R, Key...>,
                "lido: a resource factory must be a function R(), or have a public R create() or R "
                "create(const create_context&); with a const Key& in front for a "
                "keyed_resource_pool. R is the type of the pool's resources");
  static_assert(!is_create_function<F, R, Key...> || !names_create<F>,
                "lido: create of a resource factory must be a public R create() or R create(const "
                "create_context&), with a const Key& in front for a keyed_resource_pool");
  static_assert(validates<F, R> || !names_validate<F>,
                "lido: validate of a resource factory must be a public bool validate(R&) or bool "
                "validate(R&, const create_context&), without a key");
  static_assert(resets<F, R> || !names_reset<F>,
                "lido: reset of a resource factory must be a public void reset(R&) or bool "
                "reset(R&), without a key");
  static_assert(destroys<F, R> || !names_destroy<F>,
                "lido: destroy of a resource factory must be a public void destroy(R&, "
                "destroy_reason) noexcept, without a key");
  static_assert(judges<F, R> || !names_is_clean_after<F>,
                "lido: is_clean_after of a resource factory must be a public bool "
                "is_clean_after(R&, const std::exception&), without a key");
  static_assert(interrupts<F, R> || !names_interrupt<F>,
                "lido: interrupt of a resource factory must be a public void interrupt(R&) "
                "noexcept, without a key");
  refuse_nothing(pool, "the factory", factory);
  return std::make_shared<F>(std::move(factory));
}

}  // namespace detail

/// A factory of a `resource_pool<R>`: a function that returns an R, or an object with
///
///   R    create()  or  create(const create_context&)    if it throws, the pool tries again later
///   bool validate(R&)  or  validate(R&, const create_context&)    optional; throwing means false
///   bool or void reset(R&)   optional, after a use; if it throws or returns false, R is destroyed
///   void destroy(R&, destroy_reason) noexcept        optional, called before the destructor of R
///   bool is_clean_after(R&, const std::exception&)   optional; if true, `with` keeps the resource
///   void interrupt(R&) noexcept       optional, during a use; ends whatever the user waits for
///
/// `create` may also return a create_result<R>. A static_assert rejects a function that has one of
/// these names but none of its signatures. Several threads may call the functions at once, but
/// never two threads for the same resource. No lock of the pool is held during a call. The
/// functions may use the pool, but must neither close nor destroy it.
///
/// `interrupt` is the exception: it runs concurrently with the user of a resource, or with a
/// `validate` or `reset` of the same use. Until it returns, the resource is neither destroyed nor
/// detached.
template <class F, class R>
concept resource_factory = detail::is_factory<F, R>;

/// A factory of a `keyed_resource_pool`. The pool passes the key as the first argument of each
/// create. Such a factory is a function `R(const Key&)`, or an object with `create(const Key&)` or
/// `create(const Key&, const create_context&)`. The other functions are those of a
/// `resource_factory`, without a key. All keys share one factory.
template <class F, class Key, class R>
concept keyed_resource_factory = detail::is_factory<F, R, Key>;

}  // namespace lido::inline v0
