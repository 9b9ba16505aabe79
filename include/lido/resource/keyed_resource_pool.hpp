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

/// Hashes and compares keys; for strings also anything that converts to std::string_view.
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

template <class Hash>
inline constexpr bool looks_up_any = requires {
  typename Hash::is_transparent;
};

/// How a view stores the key given to `at`: by reference if it is expensive to copy and outlives
/// the call. Numbers, pointers, string views and temporaries are stored by value. Without
/// `is_transparent` anything but a Key is converted to a Key.
template <class Key, class Hash, class K>
using kept_key =
    std::conditional_t<!std::is_same_v<std::decay_t<K>, Key> && !looks_up_any<Hash>, Key,
                       std::conditional_t<!std::is_lvalue_reference_v<K> ||
                                              (std::is_trivially_copyable_v<std::decay_t<K>> &&
                                               sizeof(std::decay_t<K>) <= sizeof(std::string_view)),
                                          std::decay_t<K>, const std::decay_t<K>&>>;

}  // namespace detail

/// The resources of one key, returned by `keyed_resource_pool::at`. Its acquire functions are those
/// of a `resource_pool`, except urgent ones. An acquire adds the key if it is new.
///
/// A view is small, and costs nothing to make. It stores numbers, pointers, string views and
/// temporary keys, and refers to the pool and to any other key, which must outlive it. Callbacks
/// and coroutines that wait need neither the view nor its key.
template <class Key, class R, class Hash, class Kept>
class key_view : public detail::acquire_forms<key_view<Key, R, Hash, Kept>, R, /*has_key=*/true> {
 public:
  /// Destroys all resources of the key made so far; those in use when they come back. Nothing is
  /// created ahead for the key until it is asked for again.
  void flush(ongoing_uses uses = ongoing_uses::finish) {
    with_key([this, uses](detail::sought_key* key) { core_->flush(key, uses); });
  }
  /// Flushes the key if there was no flush since `seen`. An unknown key has the generation 0.
  bool flush(resource_generation seen) {
    return with_key([this, seen](detail::sought_key* key) { return core_->flush_of(key, seen); });
  }
  [[nodiscard]] resource_generation generation() {
    return with_key([this](detail::sought_key* key) { return core_->groups().generation(key); });
  }
  /// Ends the pause after failed creates of the key.
  void retry_now() {
    with_key([this](detail::sought_key* key) { core_->retry_now(key); });
  }
  /// Returns nothing if the key is unknown. Throws std::bad_alloc.
  [[nodiscard]] std::optional<resource_pool_stats> stats() {
    resource_pool_stats found;
    const bool is_known = with_key([this, &found](detail::sought_key* key) {
      return core_->reports().find_stats(*key, found);
    });
    return is_known ? std::optional(found) : std::nullopt;
  }

 private:
  template <class, class, bool>
  friend class detail::acquire_forms;
  template <class, class, class>
  friend class keyed_resource_pool;
  template <class, class, class, class>
  friend class key_view;
  using table = detail::known_keys<Key, Hash>;

  template <class K>
  key_view(detail::pool_core& core, K&& key)
      : core_(&core), key_(static_cast<Kept>(std::forward<K>(key))) {}

  [[nodiscard]] detail::pool_core& core() const noexcept { return *core_; }
  [[nodiscard]] table& keys() const noexcept { return static_cast<table&>(core_->groups().keys()); }

  /// Takes what this thread, or any thread, released last, if it is of the key.
  [[LIDO_FAST_PATH]] detail::slot_grant try_last(detail::code_address at) {
    const detail::slot_grant last =
        detail::idle_cache::try_acquire_hint(core_->gate(), Hash::hash(key_), at);
    if (last.slot == nullptr) {
      return last;
    }
    detail::idle_cache& group = *last.slot->record.cache;
    detail::scope_exit decline([&] { (void)group.decline(last); });
    if (!Hash::equal(table::value_of(*group.key()), key_)) {
      return {};
    }
    decline.dismiss();
    return last;
  }
  template <class F>
  decltype(auto) with_key(const F& f) {
    typename table::template sought<std::remove_cvref_t<Kept>> key(keys(), key_);
    return f(&key);
  }
  template <class Result>
  auto awaiter(detail::acquire_call call) {
    return detail::acquire_awaiter<R, Result, typename table::owned>(*core_, std::move(call),
                                                                     keys(), Key(key_));
  }
  [[nodiscard]] auto kept() const { return key_view<Key, R, Hash, Key>(*core_, Key(key_)); }

  detail::pool_core* core_;
  Kept key_;
};

/// Pools resources by key, such as the address of a backend: at most `each_key.max_size` for each
/// key, and `max_total` over all keys. At the total limit, the idle resource of another key that
/// was unused for longest is evicted.
///
/// Each key behaves as a `resource_pool`: see there for lifetimes, validation, retries, errors. An
/// acquire takes no mutex if the resource of the key that came back last is idle; otherwise it
/// looks the key up under the pool's mutex. A tick forgets keys without resources and waiters. A
/// key costs about 1 KiB.
///
/// All functions are thread-safe. Keys are compared, moved and destroyed under the pool's mutex,
/// and copied only when they are new; these operations must not use the pool. Not movable. For the
/// destructor and forks see `resource_pool`.
template <class Key, class R, class Hash = key_hash<Key>>
class keyed_resource_pool : public detail::pool_controls {
  template <class K>
  using view_at = key_view<Key, R, Hash, detail::kept_key<Key, Hash, K>>;

 public:
  using key_type = Key;
  using value_type = R;
  using lease_type = resource_lease<R>;
  using result_type = acquire_result<R>;

  /// Makes a pool from a keyed_resource_factory. Creates no resource itself, and starts no thread.
  /// Throws std::invalid_argument that names what is wrong, or std::bad_alloc.
  template <class F>
  explicit keyed_resource_pool(F factory, const keyed_resource_pool_options& options = {})
      : pool_controls(
            detail::settings_of_keys(options), &detail::make_slots<R>,
            std::make_shared<table>(
                [all = detail::share_factory<R, Key>(options.each_key.name, std::move(factory))](
                    const Key& key) { return detail::make_hooks<R>(all, key); })) {
    core().start(nullptr);
  }
  keyed_resource_pool(const keyed_resource_pool&) = delete;
  keyed_resource_pool& operator=(const keyed_resource_pool&) = delete;
  /// Waits up to `close_timeout` for leases.
  ~keyed_resource_pool() { end(); }

  /// Returns a view of one key: `pool.at("db1").acquire()`. `key` is a Key, or converts to one;
  /// with a `Hash::is_transparent` it is converted only if the key is new. `key_view` says how long
  /// it has to live.
  template <class K = Key>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto at(K&& key) & -> view_at<K> {
    static_assert(std::is_constructible_v<Key, K&&>,
                  "lido: at(key) takes a Key, or what a Key can be made of");
    return view_at<K>(core(), std::forward<K>(key));
  }
  template <class K = Key>
  void at(K&& key) && = delete;

  // ---- control: see pool_controls ---------------------------------------------------------------

  /// Ends all resources made so far, of all keys: those in use when they come back. Nothing is made
  /// ahead for a key until it is asked for again. Throws std::bad_alloc; then nothing has happened.
  void flush(ongoing_uses uses = ongoing_uses::finish) { core().flush(nullptr, uses); }
  /// Flushes the key of a lease, as `flush` of a `resource_pool` does.
  bool flush(const resource_lease<R>& failed) {
    return core().flush_of(detail::lease_access::grant_of(failed));
  }
  /// Flushes a key that is not to be used any more. Forgets it when it has neither resources nor
  /// waiters, at once or with a tick; a later acquire adds it anew. Returns false if the key is
  /// unknown. Throws std::bad_alloc, and what looking for a key throws.
  template <class K = Key>
  bool forget(const K& key) {
    return at(key).with_key([this](detail::sought_key* sought) { return core().forget(*sought); });
  }

  // ---- numbers ----------------------------------------------------------------------------------

  [[nodiscard]] keyed_resource_pool_stats stats() { return core().reports().all_stats(); }
  /// Returns what `resource_pool::times` does, over all keys.
  [[nodiscard]] resource_pool_times times() { return core().reports().times(); }
  /// Returns the numbers of each key. Copies the keys under the pool's mutex. Throws what that
  /// throws, and std::bad_alloc.
  [[nodiscard]] std::vector<std::pair<Key, resource_pool_stats>> stats_by_key() {
    std::vector<std::pair<Key, resource_pool_stats>> all;
    core().reports().for_each_stats(
        [&](const detail::known_key* key, const resource_pool_stats& stats) {
          all.emplace_back(table::value_of(*key), stats);
        });
    return all;
  }

 private:
  using table = detail::known_keys<Key, Hash>;
};

}  // namespace lido::inline v0
