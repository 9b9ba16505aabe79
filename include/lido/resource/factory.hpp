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

inline constexpr int destroy_reasons = 10;

/// What `flush` and `kill` do about uses in progress of the resources that they destroy.
enum class ongoing_uses : std::uint8_t {
  finish,     ///< nothing: each resource is destroyed when it comes back
  interrupt,  ///< the factory's `interrupt` ends what the user waits for; then as `finish`
};

/// Returns "too old" and so on.
[[nodiscard]] std::string_view to_string(destroy_reason reason) noexcept;

/// Limits of a `create` or `validate`, which ends in time only if it heeds them: a pool cannot
/// interrupt user code.
struct create_context {
  /// Set by create_timeout or validate_timeout, and by the acquirer's deadline if it creates
  /// itself.
  std::chrono::steady_clock::time_point deadline;
  /// Asked to stop by `close`, `flush`, `replace_factory`, and by the acquirer if it creates
  /// itself.
  std::stop_token stop;
};

/// Thrown by `create` when a retry is useless: a wrong password, a wrong name. If no resource is
/// left that could come back, it fails all waiters, and acquires that begin before the next attempt
/// is due.
class permanent_failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a `create` that does not throw returns instead of a resource.
struct create_error {
  std::string text;
  bool permanent = false;  ///< has the effect of a permanent_failure
};
template <class R>
using create_result = std::variant<R, create_error>;

namespace detail {

template <class T, class R>
concept is_created = std::same_as<T, R> || std::same_as<T, create_result<R>>;

// Key: in a keyed pool, the first argument of `create`.
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

/// Throws std::invalid_argument if there is nothing to call.
template <class F>
void refuse_nothing(std::string_view pool, const char* role, const F& callable) {
  if constexpr (may_be_nothing<F>) {
    if (callable == nullptr) {
      throw_invalid_option(pool, std::string(role) + " is a function that is null");
    }
  }
}

/// Makes a factory that keys can share, for `make_hooks`. Does not compile for an F that makes no
/// R, or has a function of one of the names that would be ignored. Throws std::invalid_argument if
/// the factory is null.
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
///   R    create()  or  create(const create_context&)   throws: the pool tries again later
///   bool validate(R&)  or  validate(R&, const create_context&)            optional; throws: false
///   bool or void reset(R&)         optional, after a use; false or throws: the pool destroys it
///   void destroy(R&, destroy_reason) noexcept             optional, before the destructor of R
///   bool is_clean_after(R&, const std::exception&)        optional: `with` keeps the resource
///   void interrupt(R&) noexcept           optional, during a use: ends what its user waits for
///
/// `create` may also return a create_result<R>. A function of one of these names that fits none of
/// its shapes does not compile. Several threads may call them at once, never two for the same
/// resource, and never while the pool holds a lock. They may use the pool, except to end it.
///
/// `interrupt` is the exception: it runs concurrently with the user of the resource, or with a
/// `validate` or `reset` of the same use. Until it returns, the resource is neither destroyed nor
/// detached.
template <class F, class R>
concept resource_factory = detail::is_factory<F, R>;

/// A factory of a `keyed_resource_pool`, with the key as first argument: a function `R(const
/// Key&)`, or an object with `create(const Key&)` or `create(const Key&, const create_context&)`.
/// The other functions are those of a `resource_factory`, without a key; there is one factory for
/// all keys.
template <class F, class Key, class R>
concept keyed_resource_factory = detail::is_factory<F, R, Key>;

}  // namespace lido::inline v0
