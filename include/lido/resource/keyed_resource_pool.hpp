/// @file
/// Public. `keyed_resource_pool<Key, R>`: resources of many kinds under one limit.
#pragma once

#include <tbb/concurrent_hash_map.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lido/base/scope_exit.hpp"
#include "lido/resource/factory_shapes.hpp"
#include "lido/resource/key_share.hpp"
#include "lido/resource/keyed_factory.hpp"
#include "lido/resource/keyed_lease.hpp"
#include "lido/resource/keyed_options.hpp"
#include "lido/resource/tick_thread.hpp"
#include "lido/resource/with_lease.hpp"

namespace lido {

/// For each key, such as the address of a backend, a pool of its own; over all of them one limit,
/// `max_total`. Who waits for one key is served by what another key does not use: an idle resource
/// of the key that was not used for longest is ended to make room.
///
/// Each key behaves as a `resource_pool` with `maintenance::by_callers`: see there for lifetimes,
/// validation, retries, errors. An acquire that its own key can serve takes a reader's lock of one
/// bucket of the table of keys (spinning, for the time of a look) and no mutex. Everything else
/// blocks for as long as others hold the mutex of the total or of the key. A key costs about 3 KiB,
/// and `max_size` places of 128 bytes and an R; it goes when it has none left, and no create of it
/// has failed of late, and `tick` comes by.
///
/// All functions are thread-safe. Keys are looked up by anything that `Hash` can hash and compare,
/// and copied only when they are new. Functions of the factory may use the pool, but `destroy` not
/// wait for it. Not movable, not after a fork; the destructor does what that of resource_pool does,
/// and waits for the call of the factory, or of `on_event`, that the pool's own thread is in.
template <class Key, class R, class Hash = key_hash<Key>>
class keyed_resource_pool {
 public:
  using key_type = Key;
  using value_type = R;
  using lease_type = keyed_lease<R>;

  /// Throws std::invalid_argument that names what is wrong, std::bad_alloc, or std::system_error
  /// if the thread cannot be started. Makes no resource itself.
  template <keyed_resource_factory<Key, R> F>
  explicit keyed_resource_pool(F factory, const keyed_resource_pool_options& options = {})
      : settings_(detail::settings_of_each_key(options)),
        make_core_(core_maker(std::move(factory), settings_)),
        total_(std::make_shared<detail::total_share>(static_cast<std::uint32_t>(options.max_total),
                                                     settings_.max_size,
                                                     options.prefer_same_key_for.count())) {
    if (options.each_key.upkeep == maintenance::background) {
      thread_.emplace(std::chrono::nanoseconds(settings_.period), [this] { tick(); });
    }
  }
  /// Does not compile, and says what a factory is; so std::is_constructible is of no use here.
  template <class F>
    requires(!keyed_resource_factory<F, Key, R>)
  explicit keyed_resource_pool(F /*factory*/, const keyed_resource_pool_options& options = {})
      : settings_(detail::settings_of_each_key(options)) {
    (void)detail::factory_without_create<F>();
  }

  keyed_resource_pool(const keyed_resource_pool&) = delete;
  keyed_resource_pool& operator=(const keyed_resource_pool&) = delete;
  /// Waits up to `close_timeout` for leases, and ends the newest key first. Takes no memory.
  ~keyed_resource_pool() {
    // Not close(), whose report takes memory.
    const auto until = detail::deadline::after(settings_.close_timeout);
    total_->close();
    visit([](share& one) {
      (void)one.core().end(detail::deadline::after(std::chrono::nanoseconds(0)));
    });
    thread_.reset();  // only now: what it was in the middle of has been told to stop
    visit([&](share& one) { (void)one.core().end(until); });
    visit([](share& one) { one.core().let_go(); });
  }

  // ---- acquire ----------------------------------------------------------------------------------

  /// Waits up to `acquire_timeout` of the options. Throws acquire_error, whose counts are those of
  /// the key; std::bad_alloc; and what copying the key and making its text throws.
  template <class K>
  [[nodiscard, gnu::always_inline]] lease_type acquire(const K& key, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, settings_.acquire_timeout, std::move(stop));
  }

  /// As `acquire`, with a time of its own. Not positive: what can be had now.
  template <class K, class Rep, class Period>
  [[nodiscard, gnu::always_inline]] lease_type acquire_for(
      const K& key, std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, timeout, std::move(stop));
  }

  /// As `acquire`, up to a moment of any clock.
  template <class K, class Clock, class Duration>
  [[nodiscard, gnu::always_inline]] lease_type acquire_until(
      const K& key, std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, moment, std::move(stop));
  }

  /// An empty lease if there is none, and no room to make one. Makes one itself if there is. Throws
  /// std::bad_alloc if the key is new.
  template <class K>
  [[nodiscard, gnu::always_inline]] lease_type try_acquire(const K& key) {
    share& found = claim(key);
    detail::resource_grant taken = total_->take_last(found, detail::place::here());
    if (taken.slot == nullptr) {
      taken = total_->take_now(found, detail::place::here());
    }
    if (taken.slot == nullptr) {
      total_->leave(found);
      return {};
    }
    return lease_type(total_, found, taken);
  }

  /// Calls `f(R&)` with a resource of that key; returns what it returns. Throws what it throws, and
  /// as `acquire`. A resource that `f` has left with an exception is discarded.
  template <class K, class F>
  [[gnu::always_inline]] decltype(auto) with(const K& key, F&& f) {
    return detail::with_lease(acquire(key), std::forward<F>(f));
  }

  // ---- control ----------------------------------------------------------------------------------

  /// Ends a resource of that key: now if it is idle, when it comes back if it is in use. False: it
  /// is gone.
  template <class K>
  bool kill(const K& key, const resource_handle& handle) {
    share* const found = look_at(key);
    if (found == nullptr) {
      return false;
    }
    const bool is_killed = found->core().kill(handle);
    total_->end_look(*found);
    return is_killed;
  }

  /// Ends all resources made so far, of one key or of all: those in use when they come back. Of one
  /// key: throws what making a Key throws.
  template <class K>
  void flush(const K& key) {
    if (share* const found = look_at(key)) {
      found->core().flush();
      total_->end_look(*found);
    }
  }
  void flush() {
    visit([](share& one) { one.core().flush(); });
  }

  /// Counts time, ends what is too old, reports long leases, forgets keys that have nothing.
  void tick() {
    visit([this](share& one) {
      if (total_->is_closed()) {  // or a key that nobody has come to yet would be asked once more
        (void)one.core().end(detail::deadline::after(std::chrono::nanoseconds(0)));
      }
      one.core().tick();
      total_->trim(one);
    });
    detail::key_share* one = total_->look_behind(nullptr);
    while (one != nullptr) {
      detail::key_share* const next = total_->look_behind(one);
      if (!forget(static_cast<share&>(*one))) {
        total_->end_look(*one);
      }
      one = next;
    }
  }

  /// Refuses and wakes all who wait, ends idle resources, waits up to `timeout` until the others
  /// have come back, and says what is left. May be called again. Throws std::bad_alloc; all is
  /// closed then. Requires: not called by user code that the pool calls.
  template <class Rep, class Period>
  close_report close(std::chrono::duration<Rep, Period> timeout) {
    const auto until = detail::deadline::after(timeout);
    total_->close();
    visit([](share& one) {  // first nobody waits any more, whatever the others and the report take
      (void)one.core().end(detail::deadline::after(std::chrono::nanoseconds(0)));
    });
    close_report left;
    visit([&](share& one) {
      const close_report of_one = one.core().close(until);
      detail::append(left.holders, of_one.holders, one.text);
      left.creating += of_one.creating;
    });
    return left;
  }

  // ---- numbers ----------------------------------------------------------------------------------

  [[nodiscard]] const std::string& name() const noexcept { return settings_.name; }

  /// Throws std::bad_alloc, as those below.
  [[nodiscard]] keyed_resource_pool_stats stats() {
    keyed_resource_pool_stats all;
    visit([&all](share& one) {
      const resource_pool_stats stats = one.core().stats();
      ++all.keys;
      all.live += stats.live;
      all.idle += stats.idle;
      all.in_use += stats.in_use;
    });
    const detail::total_share::numbers numbers = total_->count();
    all.max_total = total_->max_total();
    all.waiters = numbers.waiting;
    all.moved = numbers.moved;
    return all;
  }

  /// Of one key; `max_size` is what it has been granted. Nothing if the pool knows no such key.
  template <class K>
  [[nodiscard]] std::optional<resource_pool_stats> stats(const K& key) {
    share* const found = look_at(key);
    if (found == nullptr) {
      return std::nullopt;
    }
    const detail::scope_exit leave([&] { total_->end_look(*found); });
    return found->core().stats();
  }

  /// Of all keys.
  [[nodiscard]] std::vector<std::pair<Key, resource_pool_stats>> stats_by_key() {
    std::vector<std::pair<Key, resource_pool_stats>> all;
    visit([&all](share& one) { all.emplace_back(one.key, one.core().stats()); });
    return all;
  }

  /// Who has a resource just now.
  [[nodiscard]] std::vector<lease_info> leases() {
    std::vector<lease_info> all;
    visit([&all](share& one) { detail::append(all, one.core().leases(), one.text); });
    return all;
  }

 private:
  struct share : detail::key_share {
    share(Key of, std::string name, std::shared_ptr<detail::resource_core> core)
        : detail::key_share(std::move(core)), key(std::move(of)), text(std::move(name)) {}
    const Key key;
    const std::string text;
  };
  // Memory from operator new: what oneTBB's own allocator passes from thread to thread no sanitizer
  // follows.
  using table =
      tbb::concurrent_hash_map<Key, share*, Hash, std::allocator<std::pair<const Key, share*>>>;
  using maker =
      std::function<std::shared_ptr<detail::resource_core>(const Key&, const std::string& text)>;

  template <class F>
  static maker core_maker(F factory, const detail::pool_settings& settings) {
    (void)detail::fitting_factory<F, R, !detail::is_create_function_of_key<F, Key, R>>();
    detail::refuse_nothing(settings.name, "the factory", factory);
    return [all = std::make_shared<F>(std::move(factory)), &settings](const Key& key,
                                                                      const std::string& text) {
      using of_key = detail::keyed_factory<Key, R, F>;
      detail::pool_settings its_own = settings;
      its_own.name += text.empty() ? "" : '[' + text + ']';
      return std::make_shared<detail::resource_core>(
          its_own, std::make_shared<detail::typed_hooks<R, of_key>>(of_key(all, key)),
          &detail::typed_block<R>::make);
    };
  }

  /// Null: no such key.
  template <class K>
  share* claim_known(const K& key) {
    typename table::const_accessor found;
    if (!find(found, key) || found->second == nullptr) {
      return nullptr;
    }
    found->second->claim();  // while the bucket is locked, so that nobody forgets the key
    return found->second;
  }

  /// The same for who wants no resource.
  template <class K>
  share* look_at(const K& key) {
    typename table::const_accessor found;
    if (!find(found, key) || found->second == nullptr) {
      return nullptr;
    }
    total_->look_at(*found->second);
    return found->second;
  }

  template <class K>
  share& claim(const K& key) {
    if (share* const known = claim_known(key)) {
      return *known;
    }
    return claim_new(Key(key));
  }

  share& claim_new(const Key& key) {
    const std::string text = detail::text_of_key(key);  // which calls the user, before the lock
    typename table::accessor made;
    (void)keys_.insert(made, key);
    // Also where the table had no memory to grow when it had inserted the key.
    if (made->second == nullptr) {
      try {
        made->second = static_cast<share*>(
            &total_->add(std::make_unique<share>(key, text, make_core_(key, text))));
      } catch (...) {
        keys_.erase(made);
        throw;
      }
    }
    made->second->claim();
    return *made->second;
  }

  template <class K>
  bool find(typename table::const_accessor& found, const K& key) {
    if constexpr (std::is_same_v<K, Key> || detail::is_transparent_hash<Hash>) {
      return keys_.find(found, key);
    } else {
      return keys_.find(found, Key(key));
    }
  }

  /// The key if nobody else is with it and it has nothing. False: it stays, as where Hash throws.
  bool forget(share& one) noexcept {
    std::unique_ptr<detail::key_share> removed;
    try {
      typename table::accessor found;
      if (!keys_.find(found, one.key) || found->second != &one ||
          (removed = total_->remove(one)) == nullptr) {
        return false;
      }
      found->second = nullptr;  // the erase may throw, too
      keys_.erase(found);
    } catch (...) {  // NOLINT(bugprone-empty-catch): see above
    }
    total_->look_again();
    return removed != nullptr;
  }

  /// Calls `f` with each key. If that throws, no key is looked at for ever.
  template <class F>
  void visit(const F& f) {
    detail::key_share* one = total_->look_behind(nullptr);
    const detail::scope_exit leave([&] {
      if (one != nullptr) {
        total_->end_look(*one);
      }
    });
    while (one != nullptr) {
      f(static_cast<share&>(*one));
      detail::key_share* const next = total_->look_behind(one);
      total_->end_look(*std::exchange(one, next));
    }
  }

  /// The clock is read only if there is something to wait for.
  template <class K, class When>
  lease_type acquire_at(detail::place at, const K& key, When when, std::stop_token stop) {
    share& found = claim(key);
    auto total = total_;  // the pool may end while this waits
    detail::resource_grant taken =
        stop.stop_requested() ? detail::resource_grant() : total->take_last(found, at);
    if (taken.slot == nullptr) {
      try {
        taken = total->take(found, {detail::deadline::of(when), std::move(stop), at});
      } catch (...) {
        total->leave(found);
        throw;
      }
    }
    return lease_type(std::move(total), found, taken);
  }

  const detail::pool_settings settings_;
  const maker make_core_;
  const std::shared_ptr<detail::total_share> total_;
  table keys_;
  std::optional<detail::tick_thread> thread_;
};

}  // namespace lido
