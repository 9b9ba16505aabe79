/// @file
/// Public. `keyed_resource_pool<Key, R>`: resources of many kinds under one limit.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lido/resource/co_acquire.hpp"
#include "lido/resource/factory_shapes.hpp"
#include "lido/resource/keyed_factory.hpp"
#include "lido/resource/keyed_options.hpp"
#include "lido/resource/lease.hpp"

namespace lido {

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
class keyed_resource_pool {
 public:
  using key_type = Key;
  using value_type = R;
  using lease_type = resource_lease<R>;
  using result_type = acquire_result<R>;

  /// Throws std::invalid_argument that names what is wrong, std::bad_alloc, or std::system_error
  /// if the thread cannot be started. Creates no resource itself.
  template <keyed_resource_factory<Key, R> F>
  explicit keyed_resource_pool(F factory, const keyed_resource_pool_options& options = {})
      : make_hooks_(hooks_maker(options.each_key.name, std::move(factory))),
        core_(std::make_shared<detail::pool_core>(detail::settings_of_keys(options),
                                                  &detail::typed_slot_block<R>::make)) {
    core_->set_table(&keyed_resource_pool::forget, this);
    core_->start();
  }
  /// Does not compile, and says what a factory is; so std::is_constructible is of no use here.
  template <class F>
    requires(!keyed_resource_factory<F, Key, R>)
  explicit keyed_resource_pool(F /*factory*/, const keyed_resource_pool_options& /*options*/ = {}) {
    (void)detail::factory_without_create<F>();
  }
  keyed_resource_pool(const keyed_resource_pool&) = delete;
  keyed_resource_pool& operator=(const keyed_resource_pool&) = delete;
  /// Waits up to `close_timeout` for leases.
  ~keyed_resource_pool() {
    (void)core_->end(detail::deadline::after(core_->settings().close_timeout));
    core_->let_go();
  }

  // ---- acquire: see resource_pool ---------------------------------------------------------------

  /// Throws acquire_error, whose counts are those of the key; std::bad_alloc; and what copying the
  /// key and making its text throws.
  template <class K>
  [[nodiscard, gnu::always_inline]] lease_type acquire(const K& key, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, core_->settings().acquire_timeout,
                      std::move(stop))
        .value();
  }
  template <class K, class Rep, class Period>
  [[nodiscard, gnu::always_inline]] lease_type acquire_for(
      const K& key, std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, timeout, std::move(stop)).value();
  }
  template <class K, class Clock, class Duration>
  [[nodiscard, gnu::always_inline]] lease_type acquire_until(
      const K& key, std::chrono::time_point<Clock, Duration> moment, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, moment, std::move(stop)).value();
  }
  /// An empty lease if there is none, and no room to create one. Throws std::bad_alloc, and what a
  /// new key throws.
  template <class K>
  [[nodiscard, gnu::always_inline]] lease_type try_acquire(const K& key) {
    result_type found =
        acquire_at(detail::place::here(), key, std::chrono::nanoseconds(0), std::stop_token());
    return found ? std::move(found).value() : lease_type();
  }
  template <class K, class Rep, class Period>
  [[nodiscard, gnu::always_inline]] result_type try_acquire_for(
      const K& key, std::chrono::duration<Rep, Period> timeout, std::stop_token stop = {}) {
    return acquire_at(detail::place::here(), key, timeout, std::move(stop));
  }
  template <class K, class Done, class Rep, class Period>
  [[gnu::always_inline]] void async_acquire(const K& key, Done done,
                                            std::chrono::duration<Rep, Period> timeout,
                                            std::stop_token stop = {}) {
    async_acquire_at(detail::place::here(), key, std::move(done), timeout, std::move(stop));
  }
  template <class K, class Done, class Rep, class Period>
  void async_acquire_at(detail::place at, const K& key, Done done,
                        std::chrono::duration<Rep, Period> timeout, std::stop_token stop) {
    static_assert(std::is_invocable_v<Done&, result_type>,
                  "lido: the callback of async_acquire is called with an acquire_result<R>");
    detail::refuse_nothing(name(), "the callback", done);
    detail::acquire_completion completion = detail::completion_of<R>(std::move(done));
    const detail::deadline until = detail::deadline::after(timeout);
    while (!core_->acquire_async({until, stop, at, finder(key)}, completion)) {
      add(key);
    }
  }
  /// `key` is copied. Throws as `acquire`, at once or in `co_await`.
  template <class K, class Rep, class Period>
  [[nodiscard, gnu::always_inline]] auto co_acquire(const K& key,
                                                    std::chrono::duration<Rep, Period> timeout,
                                                    std::stop_token stop = {}) {
    return awaiter<lease_type>(
        *this, Key(key),
        {detail::deadline::after(timeout), std::move(stop), detail::place::here(), {}});
  }

  /// Calls `f(R&)` with a resource of that key; returns what it returns. Throws what it throws, and
  /// as `acquire`. A resource that `f` has left with an exception is discarded.
  template <class K, class F>
  [[gnu::always_inline]] decltype(auto) with(const K& key, F&& f) {
    const lease_type lease = acquire(key);
    return std::forward<F>(f)(*lease);
  }

  // ---- control ----------------------------------------------------------------------------------

  /// Ends a resource: now if it is idle, when it comes back if it is in use. False: it is gone.
  bool kill(const resource_handle& handle) noexcept { return core_->kill(handle); }
  /// Ends all resources made so far, of one key or of all: those in use when they come back.
  template <class K>
  void flush(const K& key) {
    core_->flush(finder(key));
  }
  void flush() { core_->flush_all(); }
  void suspend() noexcept { core_->suspend(/*on=*/true); }
  void resume() noexcept { core_->suspend(/*on=*/false); }
  void tick() noexcept { core_->tick(); }
  void watch_leases(bool on) noexcept { core_->watch_leases(on); }
  template <class Rep, class Period>
  close_report close(std::chrono::duration<Rep, Period> timeout) {
    return core_->close(detail::deadline::after(timeout));
  }
  template <class Done, class Rep, class Period>
  void async_close(Done done, std::chrono::duration<Rep, Period> timeout) {
    core_->close_async(detail::deadline::after(timeout), detail::close_completion(std::move(done)));
  }

  // ---- numbers ----------------------------------------------------------------------------------

  [[nodiscard]] const std::string& name() const noexcept { return core_->settings().name; }
  [[nodiscard]] keyed_resource_pool_stats stats() {
    keyed_resource_pool_stats all;
    all.max_total = core_->settings().max_total;
    core_->for_each_stats([&all](const void* /*key*/, const resource_pool_stats& stats) {
      ++all.keys;
      all.live += stats.live;
      all.idle += stats.idle;
      all.in_use += stats.in_use;
      all.waiters += stats.waiters;
    });
    return all;
  }
  /// Of one key. Nothing if the pool knows no such key. Throws std::bad_alloc, as those below.
  template <class K>
  [[nodiscard]] std::optional<resource_pool_stats> stats(const K& key) {
    std::optional<resource_pool_stats> found;
    core_->for_each_stats([&](const void* other, const resource_pool_stats& stats) {
      if (Hash::equal(*static_cast<const Key*>(other), key)) {
        found = stats;
      }
    });
    return found;
  }
  [[nodiscard]] std::vector<std::pair<Key, resource_pool_stats>> stats_by_key() {
    std::vector<std::pair<Key, resource_pool_stats>> all;
    core_->for_each_stats([&](const void* key, const resource_pool_stats& stats) {
      all.emplace_back(*static_cast<const Key*>(key), stats);
    });
    return all;
  }
  [[nodiscard]] std::vector<lease_info> leases() { return core_->leases(); }

 private:
  struct hasher {
    using is_transparent = void;
    template <class K>
    std::size_t operator()(const K& key) const {
      return Hash::hash(key);
    }
  };
  struct equals {
    using is_transparent = void;
    template <class L, class K>
    bool operator()(const L& left, const K& right) const {
      return Hash::equal(left, right);
    }
  };
  using table = std::unordered_map<Key, detail::idle_cache*, hasher, equals>;
  using hooks_maker_function =
      std::function<std::shared_ptr<detail::factory_hooks>(const Key& key)>;

  template <class Result>
  class awaiter : public detail::acquire_awaiter<R, Result> {
   public:
    awaiter(keyed_resource_pool& pool, Key key, detail::acquire_call request)
        : detail::acquire_awaiter<R, Result>(*pool.core_, std::move(request)),
          pool_(pool),
          key_(std::move(key)) {
      this->set_group(pool_.finder(key_));
    }
    bool await_suspend(std::coroutine_handle<> coroutine) {
      return this->suspend(coroutine, [this] { pool_.add(key_); });
    }

   private:
    keyed_resource_pool& pool_;
    Key key_;
  };

  template <class F>
  static hooks_maker_function hooks_maker(std::string_view pool, F factory) {
    (void)detail::fitting_factory<F, R, !detail::is_create_function_of_key<F, Key, R>>();
    detail::refuse_nothing(pool, "the factory", factory);
    return [all = std::make_shared<F>(std::move(factory))](const Key& key) {
      using of_key = detail::keyed_factory<Key, R, F>;
      return std::make_shared<detail::typed_factory_hooks<R, of_key>>(of_key(all, key));
    };
  }

  /// Of a key that outlives the call.
  template <class K>
  [[nodiscard]] detail::group_finder finder(const K& key) const noexcept {
    return {[](const void* sought, const void* keys) -> detail::idle_cache* {
              const auto& known = *static_cast<const table*>(keys);
              const auto found = known.find(*static_cast<const K*>(sought));
              return found != known.end() ? found->second : nullptr;
            },
            &key, &keys_};
  }

  /// Nothing if the key is known by then. Users' code for new keys runs before the lock.
  template <class K>
  void add(const K& key) {
    Key copy(key);
    std::string text = detail::text_of_key(copy);
    auto hooks = make_hooks_(copy);
    core_->locked([&] {
      const auto [node, is_new] = keys_.emplace(std::move(copy), nullptr);
      if (!is_new) {
        return;
      }
      try {
        node->second =
            &core_->add_group(std::move(hooks), Hash::hash(node->first), std::move(text));
        node->second->set_key(&node->first);
      } catch (...) {
        keys_.erase(node);
        throw;
      }
    });
  }

  /// False: the key stays for now, as hashing or comparing it throws.
  static bool forget(detail::idle_cache& group, void* pool) noexcept {
    auto& self = *static_cast<keyed_resource_pool*>(pool);
    try {
      self.keys_.erase(self.keys_.find(*static_cast<const Key*>(group.key())));
      return true;
    } catch (...) {
      return false;
    }
  }

  template <class K, class When>
  result_type acquire_at(detail::place at, const K& key, When when, std::stop_token stop) {
    if constexpr (!std::is_same_v<K, Key> && !detail::is_transparent_hash<Hash>) {
      return acquire_at(at, Key(key), when, std::move(stop));
    } else {
      if (!stop.stop_requested()) {
        const detail::slot_grant last =
            detail::idle_cache::try_acquire_hint(core_->gate(), Hash::hash(key), at);
        if (last.slot != nullptr) {
          detail::idle_cache& group = *last.slot->record.cache;
          if (Hash::equal(*static_cast<const Key*>(group.key()), key)) {
            return result_type({.grant = last, .why = nullptr});
          }
          (void)group.decline(last);
        }
      }
      const detail::deadline until = detail::deadline::of(when);
      for (;;) {
        detail::acquire_outcome got = core_->acquire({until, stop, at, finder(key)});
        if (!got.is_unknown_key) {
          return result_type(std::move(got));
        }
        add(key);
      }
    }
  }

  const hooks_maker_function make_hooks_;
  table keys_;  // under the core's mutex
  std::shared_ptr<detail::pool_core> core_;
};

}  // namespace lido
