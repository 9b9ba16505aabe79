/// @file
/// Waits of all kinds, which check that they end exactly once.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/ledger.hpp"
#include "harness/run.hpp"
#include "lido/asio.hpp"
#include "lido/resource_pool.hpp"
#include "support/asio.hpp"
#if defined(LIDO_ASIO_HAS_CANCELLATION) && defined(LIDO_STANDALONE_ASIO)
#define LIDO_STRESS_SLOTS
#if defined(LIDO_TEST_ASIO_COROUTINES)
#define LIDO_STRESS_RACES
#endif
#endif

namespace waits {

namespace net = lido::detail_asio::net;
using pool_type = lido::resource_pool<stress::owned>;
using lease_type = lido::resource_lease<stress::owned>;
using result_type = lido::acquire_result<stress::owned>;

/// The kinds of waits.
enum class way : unsigned { thread, callback, coroutine, handler, slot, future, awaitable, race };

constexpr std::array names{"thread", "callback", "coroutine", "handler",
                           "slot",   "future",   "awaitable", "race"};

/// The kinds that this compiler and this version of Asio support. Asio does not support coroutines
/// with Clang 14, nor slots before 1.19.
constexpr std::array ways {
  way::thread, way::callback, way::coroutine, way::handler, way::future,
#if defined(LIDO_STRESS_SLOTS)
      way::slot,
#endif
#if defined(LIDO_TEST_ASIO_COROUTINES)
      way::awaitable,
#endif
#if defined(LIDO_STRESS_RACES)
      way::race,
#endif
};

class random_factory {
 public:
  random_factory(unsigned faults, std::atomic<int>& alive) : faults_(faults), alive_(&alive) {}

  stress::owned create() {
    if (faults_ != 0 && ((*calls_)++ * 0x9E3779B9U >> 16U) % faults_ == 0) {
      throw std::runtime_error("no connection");
    }
    ++*alive_;
    return {};
  }
  void destroy(stress::owned& /*ended*/, lido::destroy_reason /*reason*/) noexcept { --*alive_; }

 private:
  unsigned faults_;
  std::atomic<int>* alive_;
  std::shared_ptr<std::atomic<unsigned>> calls_ = std::make_shared<std::atomic<unsigned>>(1);
};

/// What all waits share.
struct world {
  world(stress::run& its_run, net::thread_pool& its_threads) : run(its_run), threads(its_threads) {}

  stress::run& run;
  net::thread_pool& threads;
  std::atomic<unsigned> begun{0}, ended{0};
  std::atomic<std::uint64_t> timed_out{0}, cancelled{0};
  std::array<std::atomic<std::uint64_t>, names.size()> served_by_way{}, refused_by_way{};

  /// Returns true if each kind was served and refused, and waits timed out and were cancelled.
  [[nodiscard]] bool has_happened() const {
    return timed_out > 0 && cancelled > 0 && std::all_of(ways.begin(), ways.end(), [this](way one) {
             const auto index = static_cast<unsigned>(one);
             return served_by_way.at(index) > 0 && refused_by_way.at(index) > 0;
           });
  }
};

/// What may end a wait that is not served.
struct limits {
  std::chrono::nanoseconds time{0};
  bool is_brief = false;
  bool is_stopped = false;
};

inline void spin(unsigned turns) {
  for (unsigned i = 0; i < turns; ++i) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

/// One wait. Its carriers share it; when the last of them is destroyed, it must have ended once.
class wait {
 public:
  wait(world& of, way how, const limits& within)
      : of_(of), how_(how), within_(within), number_(++of.begun) {}
  wait(const wait&) = delete;
  wait& operator=(const wait&) = delete;
  ~wait() {
    if (ends_ != 1) {
      broken("has gone without an end");
    }
  }

  [[nodiscard]] std::chrono::nanoseconds time() const { return within_.time; }

  void end(result_type got) {
    if (got) {
      end_with(got.value());
    } else {
      end_without(got.failure());
    }
  }
  void end(const lido::acquire_error& error) { end_without(error.cause()); }
  void end(lido::asio_error_code error, lease_type lease) {
    if (static_cast<bool>(error) == static_cast<bool>(lease)) {
      broken("has ended with both or neither of a resource and an error");
    }
    if (lease) {
      end_with(std::move(lease));
    } else {
      end_without(cause_of(error));
    }
  }
  void end_with(lease_type lease) {
    note_end();
    use(std::move(lease));
    ++of_.ended;
  }
  void end_without(lido::acquire_failure cause) {
    note_end();
    note(cause);
    ++of_.ended;
  }
  [[nodiscard]] lido::acquire_failure cause_of(lido::asio_error_code error) const {
    if (error.category() != lido::acquire_category()) {
      broken("has ended with another error: " + error.message());
    }
    return static_cast<lido::acquire_failure>(error.value() - 1);
  }

 private:
  void note_end() {
    if (++ends_ != 1) {
      broken("has ended twice");
    }
  }

  void use(lease_type lease) {
    ++of_.served_by_way.at(static_cast<unsigned>(how_));
    stress::take(of_.run, *lease, number_);
    if (number_ % 4 != 0) {
      give_back(of_.run, number_, std::move(lease));
      return;
    }
    net::post(of_.threads, [&run = of_.run, number = number_, moved = std::move(lease)]() mutable {
      give_back(run, number, std::move(moved));
    });
  }

  static void give_back(stress::run& run, unsigned number, lease_type lease) {
    stress::leave(run, *lease, number);
    if (number % 64 == 1) {
      lease.discard();
    }
  }

  void note(lido::acquire_failure cause) {
    ++of_.refused_by_way.at(static_cast<unsigned>(how_));
    if (cause == lido::acquire_failure::timed_out && within_.is_brief) {
      ++of_.timed_out;
    } else if (cause == lido::acquire_failure::cancelled && within_.is_stopped) {
      ++of_.cancelled;
    } else {
      broken(std::string(to_string(cause)));
    }
  }

  [[noreturn]] void broken(const std::string& what) const {
    of_.run.broken(std::string("a wait (") + names.at(static_cast<unsigned>(how_)) + "): " + what);
  }

  world& of_;
  way how_;
  limits within_;
  unsigned number_;
  std::atomic<int> ends_{0};
};

}  // namespace waits
