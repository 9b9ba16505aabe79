/// @file
/// The pools through which clients use a server: Lido's, or a hand-written one.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "clients.hpp"
#include "lido/resource_pool.hpp"

namespace outage {

/// Connects, as the factory counts them.
struct connects {
  std::atomic<unsigned> begun = 0;
  std::atomic<unsigned> failed = 0;
  std::atomic<unsigned> open = 0;  ///< including those under way
  std::atomic<unsigned> most_open = 0;
};

/// A connection that counts as open during its lifetime.
class ticket {
 public:
  explicit ticket(connects& all) : all_(&all) {
    ++all.begun;
    const unsigned open = ++all.open;
    for (unsigned most = all.most_open; most < open;) {
      if (all.most_open.compare_exchange_weak(most, open)) {
        break;
      }
    }
  }
  ticket(ticket&& other) noexcept : all_(std::exchange(other.all_, nullptr)) {}
  ticket(const ticket&) = delete;
  ticket& operator=(const ticket&) = delete;
  ticket& operator=(ticket&&) = delete;
  ~ticket() {
    if (all_ != nullptr) {
      --all_->open;
    }
  }

 private:
  connects* all_;
};

template <class R>
struct counted {
  ticket number;
  R connection;
};

/// A ready-made factory whose connects are counted.
template <class R, class Factory>
class counting_factory {
 public:
  using resource = counted<R>;

  counting_factory(Factory factory, connects& all) : factory_(std::move(factory)), all_(&all) {}

  [[nodiscard]] resource create(const lido::create_context& context) const try {
    ticket number(*all_);
    return {std::move(number), factory_.create(context)};
  } catch (const std::runtime_error&) {
    ++all_->failed;
    throw;
  }
  bool validate(resource& idle, const lido::create_context& context) const {
    return factory_.validate(idle.connection, context);
  }
  bool reset(resource& used) const { return factory_.reset(used.connection); }

 private:
  Factory factory_;
  connects* all_;
};

/// The result of one use.
struct use {
  clock::time_point end;
  clock::duration acquire{};
  bool is_acquired = false;
  bool is_served = false;
};

class lender {
 public:
  lender() = default;
  lender(const lender&) = delete;
  lender& operator=(const lender&) = delete;
  virtual ~lender() = default;

  /// Acquires within the limit, works for a while, and makes a request.
  virtual use use_once(clock::duration limit, clock::duration work) = 0;
};

/// Lido with its defaults. Throws, in `ask`, if there is no answer.
template <class R, class Factory>
class lido_lender : public lender {
 public:
  lido_lender(counting_factory<R, Factory> factory, std::size_t size, void (*question)(R&))
      : ask_(question), pool_(std::move(factory), {.max_size = size, .name = "outage"}) {}

  use use_once(clock::duration limit, clock::duration work) override {
    use now;
    const auto begin = clock::now();
    auto lease = pool_.try_acquire_for(limit);
    now.acquire = clock::now() - begin;
    now.is_acquired = static_cast<bool>(lease);
    if (lease) {
      std::this_thread::sleep_for(work);
      now.is_served = ask(lease.value());
    }
    now.end = clock::now();
    return now;
  }

 private:
  bool ask(lido::resource_lease<counted<R>> lease) try {
    ask_(lease->connection);
    return true;
  } catch (const std::runtime_error&) {
    lease.discard();  // and no others, which may be fine
    return false;
  }

  void (*ask_)(R&);
  lido::resource_pool<counted<R>> pool_;
};

/// The control, in forty lines: a mutex, a deque, and connects on demand.
template <class R, class Factory>
class plain_pool {
 public:
  plain_pool(counting_factory<R, Factory> factory, std::size_t size)
      : factory_(std::move(factory)), size_(size) {}

  /// Throws std::runtime_error.
  counted<R> acquire(clock::time_point end) {
    std::unique_lock lock(mutex_);
    const auto has_one = [this] { return !idle_.empty() || open_ < size_; };
    if (!freed_.wait_until(lock, end, has_one)) {
      throw std::runtime_error("all connections are in use");
    }
    if (!idle_.empty()) {
      counted<R> found = std::move(idle_.back());
      idle_.pop_back();
      return found;
    }
    ++open_;
    lock.unlock();
    try {
      return factory_.create({end, {}});
    } catch (const std::runtime_error&) {
      discard();
      throw;
    }
  }
  void release(counted<R> used) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(used));
    freed_.notify_one();
  }
  void discard() {
    const std::lock_guard lock(mutex_);
    --open_;
    freed_.notify_one();
  }

 private:
  counting_factory<R, Factory> factory_;
  std::size_t size_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::deque<counted<R>> idle_;
  std::size_t open_ = 0;
};

template <class R, class Factory>
class plain_lender : public lender {
 public:
  plain_lender(counting_factory<R, Factory> factory, std::size_t size, void (*question)(R&))
      : ask_(question), pool_(std::move(factory), size) {}

  use use_once(clock::duration limit, clock::duration work) override {
    use now;
    const auto begin = clock::now();
    std::optional<counted<R>> taken = take(begin + limit);
    now.acquire = clock::now() - begin;
    now.is_acquired = taken.has_value();
    if (taken) {
      std::this_thread::sleep_for(work);
      now.is_served = ask(std::move(*taken));
    }
    now.end = clock::now();
    return now;
  }

 private:
  std::optional<counted<R>> take(clock::time_point end) try {
    return pool_.acquire(end);
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
  bool ask(counted<R> taken) try {
    ask_(taken.connection);
    pool_.release(std::move(taken));
    return true;
  } catch (const std::runtime_error&) {
    { const counted<R> ended = std::move(taken); }
    pool_.discard();
    return false;
  }

  void (*ask_)(R&);
  plain_pool<R, Factory> pool_;
};

}  // namespace outage
