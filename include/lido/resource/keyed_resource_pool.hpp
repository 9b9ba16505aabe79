/// @file
/// Public. `keyed_resource_pool<Key, R>`: a pool of resources of many keys under one limit.
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

#include "lido/base/assert.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/scope_exit.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/resource/known_keys.hpp"
#include "lido/resource/resource_pool.hpp"

namespace lido::inline v0 {

/// Hashes and compares keys. If Key is std::string, also handles anything that converts to
/// std::string_view.
template <class Key>
struct key_hash {
  /// Returns the hash value of `key`.
  [[nodiscard]] static std::size_t hash(const Key& key) { return std::hash<Key>()(key); }
  /// Returns true if the keys are equal.
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

/// The type in which a view stores the key that is passed to `at`. A key that is expensive to copy
/// and outlives the call is stored by reference. Numbers, pointers, string views and temporaries
/// are stored by value. If Hash has no `is_transparent`, anything but a Key is converted to a Key.
template <class Key, class Hash, class K>
using kept_key =
    std::conditional_t<!std::is_same_v<std::decay_t<K>, Key> && !looks_up_any<Hash>, Key,
                       std::conditional_t<!std::is_lvalue_reference_v<K> ||
                                              (std::is_trivially_copyable_v<std::decay_t<K>> &&
                                               sizeof(std::decay_t<K>) <= sizeof(std::string_view)),
                                          std::decay_t<K>, const std::decay_t<K>&>>;

}  // namespace detail

/// A view of the resources of one key, returned by `keyed_resource_pool::at`. It has the acquire
/// functions of a `resource_pool`, except the urgent ones. An acquire adds the key to the pool if
/// the key is new.
///
/// A view is small, and costs nothing to create. It stores the key if that is a number, a pointer,
/// a string view or a temporary, and refers to any other key. The pool, and a key that the view
/// refers to, must outlive the view. Callbacks and coroutines that wait need neither the view nor
/// that key.
template <class Key, class R, class Hash, class Kept>
class key_view : public detail::acquire_forms<key_view<Key, R, Hash, Kept>, R, /*has_key=*/true> {
 public:
  /// Destroys all resources of the key that were created so far. Those in use are destroyed when
  /// they come back. Until the key is acquired again, the pool creates no resource for it in
  /// advance.
  void flush(ongoing_uses uses = ongoing_uses::finish) {
    with_key([this, uses](detail::sought_key* key) { core_->flush(key, uses); });
  }
  /// Flushes the key if it has not been flushed since `generation()` returned `seen`. Returns false
  /// otherwise. An unknown key has the generation 0.
  bool flush(resource_generation seen) {
    return with_key([this, seen](detail::sought_key* key) { return core_->flush_of(key, seen); });
  }
  /// Returns the current generation of the key, which `flush` compares with `seen`.
  [[nodiscard]] resource_generation generation() {
    return with_key([this](detail::sought_key* key) { return core_->groups().generation(key); });
  }
  /// Ends the pause after failed creates of the key.
  void retry_now() {
    with_key([this](detail::sought_key* key) { core_->retry_now(key); });
  }
  /// Returns the statistics of the key, or nullopt if the key is unknown. Throws std::bad_alloc.
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

  /// Takes the resource that this thread (or, failing that, any thread) released last, if that
  /// resource belongs to the key.
  [[LIDO_FAST_PATH, LIDO_ASSERTS]] detail::slot_grant try_last(detail::code_address at) {
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

/// Pools resources by key, such as the address of a backend. The pool holds at most
/// `each_key.max_size` resources for each key, and at most `max_total` over all keys. If a key
/// needs a resource while the pool is at its total limit, the pool evicts a resource of another
/// key. It chooses the idle resource that has been unused for the longest time.
///
/// Each key behaves like a `resource_pool`: see there for lifetimes, validation, retries and
/// errors. An acquire locks no mutex if the key's most recently released resource is idle.
/// Otherwise it looks the key up under the pool's mutex. A tick removes keys that have neither
/// resources nor waiters. A key costs about 1 KiB of memory.
///
/// All functions are thread-safe. Keys are compared, moved and destroyed under the pool's mutex,
/// and copied only when they are new. None of these operations may use the pool. A keyed pool is
/// not movable. For the destructor and forks, see `resource_pool`.
template <class Key, class R, class Hash = key_hash<Key>>
class keyed_resource_pool : public detail::pool_controls {
  template <class K>
  using view_at = key_view<Key, R, Hash, detail::kept_key<Key, Hash, K>>;

 public:
  /// Type of the keys.
  using key_type = Key;
  using value_type = R;
  /// Type of the leases.
  using lease_type = resource_lease<R>;
  /// Type of the results of acquires that do not throw.
  using result_type = acquire_result<R>;

  /// Constructs a pool from a keyed_resource_factory. The constructor creates no resource and
  /// starts no thread. Throws std::bad_alloc, or a std::invalid_argument that names what is wrong.
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
  /// Closes the pool, and waits up to `close_timeout` for leases to end.
  ~keyed_resource_pool() { end(); }

  /// Returns a view of one key, as in `pool.at("db1").acquire()`. `key` is a Key, or converts to
  /// one. If Hash has an `is_transparent`, `key` is converted only if the key is new. `key_view`
  /// describes how long `key` has to live.
  template <class K = Key>
  [[nodiscard, LIDO_ALWAYS_INLINE]] auto at(K&& key) & -> view_at<K> {
    static_assert(std::is_constructible_v<Key, K&&>,
                  "lido: at(key) takes a Key, or what a Key can be made of");
    return view_at<K>(core(), std::forward<K>(key));
  }
  template <class K = Key>
  void at(K&& key) && = delete;

  // ---- control: see pool_controls ---------------------------------------------------------------

  /// Destroys all resources that were created so far, for all keys. Those in use are destroyed when
  /// they come back. Until a key is acquired again, the pool creates no resource for that key in
  /// advance. If it throws std::bad_alloc, it has had no effect.
  void flush(ongoing_uses uses = ongoing_uses::finish) { core().flush(nullptr, uses); }
  /// Flushes the key of the lease `failed`, under the same conditions as `resource_pool::flush`.
  bool flush(const resource_lease<R>& failed) {
    return core().flush_of(detail::lease_access::grant_of(failed));
  }
  /// Flushes a key that will not be used any more. Removes the key once it has neither resources
  /// nor waiters: at once, or in a later tick. A later acquire adds the key again. Returns false if
  /// the key is unknown. Throws std::bad_alloc, or whatever looking up the key throws.
  template <class K = Key>
  bool forget(const K& key) {
    return at(key).with_key([this](detail::sought_key* sought) { return core().forget(*sought); });
  }

  // ---- statistics -------------------------------------------------------------------------------

  /// Returns a snapshot of the statistics of all keys. Throws std::bad_alloc.
  [[nodiscard]] keyed_resource_pool_stats stats() { return core().reports().all_stats(); }
  /// Returns the histograms of all keys together, as `resource_pool::times` does.
  [[nodiscard]] resource_pool_times times() { return core().reports().times(); }
  /// Returns the statistics of each key. Copies the keys under the pool's mutex. Throws
  /// std::bad_alloc, or whatever copying a key throws.
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
