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

  /// A resource that comes back goes to those who wait for the same key, which costs nothing,
  /// unless somebody who waits for another key and could have it in its place has waited for longer
  /// than this and for longer than they. Zero: strictly first come, first served, over all keys.
  time_limit prefer_same_key_for = std::chrono::milliseconds(10);

  /// What holds for the resources of each key; `max_size` is the most of one key, at least 1.
  /// Errors and events name the key behind `name`, as in `backends[db1:5432]`, if it is text or a
  /// number, or a function `to_string(key)` that is found by its type makes text of it, once for
  /// each time that the pool gets to know it. Wrap a key that contains what nobody should read.
  /// `min_idle` must be 0. `detect_hold_and_wait` is ignored: such waits end at their time-outs.
  /// `upkeep` says who calls `tick()`: with `background`, one thread for all keys. Resources are
  /// made by who acquires them in any case, so an acquire may take as long as `create`; without
  /// `max_creating` as many at once as there are acquires.
  resource_pool_options each_key = {.max_size = 8};
};

/// A snapshot; each key is looked at for itself.
struct keyed_resource_pool_stats {
  std::size_t max_total = 0;
  std::size_t keys = 0;  ///< that have resources, or had some a tick ago
  std::size_t live = 0;  ///< each key at its own moment: what moves between them may count twice
  std::size_t idle = 0;
  std::size_t in_use = 0;
  std::size_t waiters = 0;  ///< of all keys
  std::uint64_t moved = 0;  ///< times one key's room went to another
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

/// Empty if a Key has none, or only points to it. Throws what making it throws.
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

inline void append(std::vector<lease_info>& all, std::vector<lease_info> of_one,
                   const std::string& key) {
  for (lease_info& lease : of_one) {
    lease.key = key;
    all.push_back(std::move(lease));
  }
}

template <class Hash>
concept is_transparent_hash = requires(Hash&) {
  typename Hash::is_transparent;
};

template <class F, class Key, class R>
concept creates_for_key_with_context = requires(F& factory, const Key& key,
                                                const create_context& context) {
  { factory.create(key, context) } -> std::same_as<R>;
};
template <class F, class Key, class R>
concept creates_for_key = requires(F& factory, const Key& key) {
  { factory.create(key) } -> std::same_as<R>;
};
template <class F, class Key, class R>
concept is_create_function_of_key =
    std::is_invocable_r_v<R, F&, const Key&> && !creates_for_key<F, Key, R> &&
    !creates_for_key_with_context<F, Key, R>;

}  // namespace detail

/// As `resource_factory`, but that the key comes first: a function `R(const Key&)`, or an object
/// with `create(const Key&)` or `create(const Key&, const create_context&)`. The other functions
/// are the same, without a key; there is one factory for all keys.
template <class F, class Key, class R>
concept keyed_resource_factory = detail::creates_for_key<F, Key, R> ||
    detail::creates_for_key_with_context<F, Key, R> || detail::is_create_function_of_key<F, Key, R>;

}  // namespace lido
