/// @file
/// Public. How a keyed resource pool is set up, and what it says about itself.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/resource/factory.hpp"
#include "lido/resource/options.hpp"
#include "lido/resource/stats.hpp"

namespace lido {

/// Options of a `keyed_resource_pool`. Use designated initialisers:
/// `{.max_total = 100, .each_key = {.max_size = 8, .name = "backends"}}`.
struct keyed_resource_pool_options {
  /// Most resources at once over all keys. 1 to 65535.
  std::size_t max_total = 64;

  /// A resource that comes back goes to a waiter for the same key, unless a waiter for another key
  /// has waited for longer than this and for longer than that one. Zero: FIFO over all keys.
  time_limit prefer_same_key_for = std::chrono::milliseconds(10);

  /// Options of each key; `max_size` is the most of one key, at least 1. Errors and events name the
  /// key behind `name`, as in `backends[db1:5432]`, if it is text, a number, or has a function
  /// `to_string(key)` that argument-dependent lookup finds. Wrap keys that contain secrets.
  /// `detect_hold_and_wait` is ignored: a resource may come from another key.
  resource_pool_options each_key = {.max_size = 8};
};

/// One snapshot of all keys.
struct keyed_resource_pool_stats {
  std::size_t max_total = 0;
  std::size_t keys = 0;  ///< that have resources, or had some a tick ago
  std::size_t live = 0;
  std::size_t idle = 0;
  std::size_t in_use = 0;
  std::size_t waiters = 0;  ///< of all keys
};

/// Hashes and compares keys; strings also by anything that becomes a std::string_view.
template <class Key>
struct key_hash {
  [[nodiscard]] static std::size_t hash(const Key& key) { return std::hash<Key>()(key); }
  [[nodiscard]] static bool equal(const Key& left, const Key& right) { return left == right; }
};

template <>
struct key_hash<std::string> {
  using is_transparent = void;
  [[nodiscard]] static std::size_t hash(std::string_view key) {
    return std::hash<std::string_view>()(key);
  }
  [[nodiscard]] static bool equal(std::string_view left, std::string_view right) {
    return left == right;
  }
};

namespace detail {

template <class Key>
concept has_own_text = requires(const Key& key) {
  requires std::constructible_from<std::string, decltype(to_string(key))>;
};
template <class Key>
concept is_number = std::is_arithmetic_v<Key> && requires(Key key) {
  std::to_string(key);
};

/// Empty if a Key has none, or is a pointer. Throws what making the text throws.
template <class Key>
[[nodiscard]] std::string text_of_key(const Key& key) {
  if constexpr (has_own_text<Key>) {
    return std::string(to_string(key));
  } else if constexpr (!std::is_pointer_v<Key> &&
                       std::is_convertible_v<const Key&, std::string_view>) {
    const std::string_view text = key;
    return std::string(text);
  } else if constexpr (is_number<Key>) {
    return std::to_string(key);
  } else {
    return {};
  }
}

template <class Hash>
concept is_transparent_hash = requires(Hash&) {
  typename Hash::is_transparent;
};

template <class F, class Key, class R>
concept creates_for_key_with_context = requires(F& factory, const Key& key,
                                                const create_context& context) {
  { factory.create(key, context) } -> is_created<R>;
};
template <class F, class Key, class R>
concept creates_for_key = requires(F& factory, const Key& key) {
  { factory.create(key) } -> is_created<R>;
};
template <class F, class Key, class R>
concept is_create_function_of_key =
    (std::is_invocable_r_v<R, F&, const Key&> ||
     std::is_invocable_r_v<create_result<R>, F&, const Key&>)&&!creates_for_key<F, Key, R> &&
    !creates_for_key_with_context<F, Key, R>;

}  // namespace detail

/// As `resource_factory`, with the key as first argument: a function `R(const Key&)`, or an object
/// with `create(const Key&)` or `create(const Key&, const create_context&)`. The other functions
/// are the same, without a key; there is one factory for all keys.
template <class F, class Key, class R>
concept keyed_resource_factory = detail::creates_for_key<F, Key, R> ||
    detail::creates_for_key_with_context<F, Key, R> || detail::is_create_function_of_key<F, Key, R>;

}  // namespace lido
