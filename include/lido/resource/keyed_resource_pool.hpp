/// @file
/// Public. `keyed_resource_pool<Key, R>`: resources of many kinds under one limit.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/base/fail.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/resource/known_keys.hpp"
#include "lido/resource/resource_pool.hpp"

namespace lido::inline v0 {

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

/// For each key, such as the address of a backend, at most `each_key.max_size` resources; over all
/// keys at most `max_total`. Where the total is reached, the idle resource of another key that was
/// not used for longest is ended.
///
/// Each key behaves as a `resource_pool`: see there for lifetimes, validation, retries, errors. An
/// acquire takes no mutex if the resource of the key that came back last is idle; otherwise it
/// looks the key up under the pool's mutex. A key that has nothing is forgotten by a tick. Costs of
/// a key: about 1 KiB.
///
/// All functions are thread-safe. Keys are hashed, compared, moved and destroyed under the pool's
/// mutex, and copied only when they are new; these operations must not use the pool. Not movable;
/// the destructor and forks as in `resource_pool`.
template <class Key, class R, class Hash = key_hash<Key>>
class keyed_resource_pool : public detail::pool_controls {
 public:
  using key_type = Key;
  using value_type = R;
  using lease_type = resource_lease<R>;
  using result_type = acquire_result<R>;

  /// F: a keyed_resource_factory. Throws std::invalid_argument that names what is wrong,
  /// std::bad_alloc, or std::system_error if the thread cannot be started. Creates no resource
  /// itself.
  template <class F>
  explicit keyed_resource_pool(F factory, const keyed_resource_pool_options& options = {})
      : pool_controls(
            detail::settings_of_keys(options), &detail::make_slots<R>,
            std::make_unique<table>(
                [all = detail::share_factory<R, Key>(options.each_key.name, std::move(factory))](
                    const Key& key) { return detail::make_hooks<R>(all, key); })) {
    core().start(nullptr);
  }
  keyed_resource_pool(const keyed_resource_pool&) = delete;
  keyed_resource_pool& operator=(const keyed_resource_pool&) = delete;
  /// Waits up to `close_timeout` for leases.
  ~keyed_resource_pool() { end(); }

  // ---- acquire: see resource_pool ---------------------------------------------------------------

  /// Throws acquire_error, whose counts are those of the key; std::bad_alloc; and what copying the
  /// key and making its text throws.
  template <class K>
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type acquire(const K& key, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, core().settings().acquire_timeout,
                      std::move(stop))
        .value();
  }
  template <class K, class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type acquire_for(
      const K& key, std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, timeout, std::move(stop)).value();
  }
  template <class K, class Clock, class Duration>
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type acquire_until(
      const K& key, std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, moment, std::move(stop)).value();
  }
  /// An empty lease if there is none, and no room to create one. Throws std::bad_alloc, and what a
  /// new key throws.
  template <class K>
  [[nodiscard, LIDO_ALWAYS_INLINE]] lease_type try_acquire(const K& key) {
    result_type found =
        acquire_at(detail::place::here(), key, std::chrono::nanoseconds(0), std::stop_token());
    return found ? std::move(found).value() : lease_type();
  }
  template <class K, class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] result_type try_acquire_for(
      const K& key, std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, timeout, std::move(stop));
  }
  template <class K, class Clock, class Duration>
  [[nodiscard, LIDO_ALWAYS_INLINE]] result_type try_acquire_until(
      const K& key, std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, moment, std::move(stop));
  }
  template <class K, class Done, class Rep, class Period>
  [[LIDO_ALWAYS_INLINE]] void async_acquire(const K& key, Done done,
                                            std::chrono::duration<Rep, Period> timeout,
                                            std::stop_token stop = {}) {
    async_acquire_at(detail::place::here(), key, std::move(done), timeout, std::move(stop));
  }
  template <class K, class Done, class Rep, class Period>
  void async_acquire_at(detail::place at, const K& key, Done done,
                        std::chrono::duration<Rep, Period> timeout, std::stop_token stop) {
    sought<K> one(keys(), key);
    core().acquire_async({detail::deadline::after(timeout), std::move(stop), at, &one},
                         detail::completion_of<R>(name(), std::move(done)));
  }
  /// `key` is copied. Throws as `acquire`, at once or in `co_await`.
  template <class K, class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_acquire(const K& key,
                                                    std::chrono::duration<Rep, Period> timeout,
                                                    std::stop_token stop = {}) {
    return wait_for<lease_type>(detail::place::here(), Key(key), timeout, std::move(stop));
  }
  /// The same with an acquire_result.
  template <class K, class Rep, class Period>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto co_try_acquire(const K& key,
                                                        std::chrono::duration<Rep, Period> timeout,
                                                        std::stop_token stop = {}) {
    return wait_for<result_type>(detail::place::here(), Key(key), timeout, std::move(stop));
  }

  /// Calls `f(R&)` with a resource of that key; returns what it returns. Throws what it throws, and
  /// as `acquire`. A resource that `f` has left with an exception is discarded.
  template <class K, class F>
  [[LIDO_ALWAYS_INLINE]] decltype(auto) with(const K& key, F&& f) {
    const lease_type lease = acquire(key);
    return std::forward<F>(f)(*lease);
  }

  // ---- control: see pool_controls ---------------------------------------------------------------

  /// Ends all resources made so far, of one key or of all: those in use when they come back.
  template <class K>
  void flush(const K& key) {
    sought<K> one(keys(), key);
    core().flush(&one);
  }
  void flush() { core().flush(); }

  // ---- numbers ----------------------------------------------------------------------------------

  [[nodiscard]] keyed_resource_pool_stats stats() { return core().all_stats(); }
  /// As of `resource_pool`, for all keys.
  [[nodiscard]] resource_pool_times times() { return core().times(); }
  /// Of one key. Nothing if the pool knows no such key. Throws std::bad_alloc, as those below.
  template <class K>
  [[nodiscard]] std::optional<resource_pool_stats> stats(const K& key) {
    return core().stats_of(sought<K>(keys(), key));
  }
  [[nodiscard]] std::vector<std::pair<Key, resource_pool_stats>> stats_by_key() {
    std::vector<std::pair<Key, resource_pool_stats>> all;
    core().for_each_stats([&](const detail::known_key* key, const resource_pool_stats& stats) {
      all.emplace_back(table::value_of(*key), stats);
    });
    return all;
  }

 private:
  using table = detail::known_keys<Key, Hash>;
  struct own_key {
    own_key(table& all, Key&& moved) : value(std::move(moved)), sought(all, value) {}
    Key value;
    typename table::template sought<Key> sought;
  };
  template <class K>
  using sought = typename table::template sought<K>;

  [[nodiscard]] table& keys() const noexcept { return static_cast<table&>(*core().keys()); }

  /// What the thread released last, if it is of `key`.
  template <class K>
  detail::slot_grant try_acquire_hint(detail::place at, const K& key) {
    const detail::slot_grant last =
        detail::idle_cache::try_acquire_hint(core().gate(), Hash::hash(key), at);
    if (last.slot == nullptr) {
      return last;
    }
    detail::idle_cache& group = *last.slot->record.cache;
    detail::scope_exit decline([&] { (void)group.decline(last); });
    if (!Hash::equal(table::value_of(*group.key()), key)) {
      return {};
    }
    decline.dismiss();
    return last;
  }

  template <class Result, class Rep, class Period>
  auto wait_for(detail::place at, Key key, std::chrono::duration<Rep, Period> timeout,
                std::stop_token stop) {
    return detail::acquire_awaiter<R, Result, own_key>(
        core(), {detail::deadline::after(timeout), std::move(stop), at}, keys(), std::move(key));
  }

  template <class K, class When>
  result_type acquire_at(detail::place at, const K& key, When when, std::stop_token stop) {
    if constexpr (!std::is_same_v<K, Key> && !requires { typename Hash::is_transparent; }) {
      return acquire_at(at, Key(key), when, std::move(stop));
    } else {
      const detail::slot_grant last =
          stop.stop_requested() ? detail::slot_grant{} : try_acquire_hint(at, key);
      if (last.slot != nullptr) {
        return result_type({.grant = last, .why = nullptr});
      }
      sought<K> one(keys(), key);
      return result_type(core().acquire({detail::deadline_of(when), std::move(stop), at, &one}));
    }
  }
};

}  // namespace lido::inline v0
