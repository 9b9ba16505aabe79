/// @file
/// Internal. How an operation of Asio is told to stop: by the caller's stop token, by the end of
/// its context, and by the cancellation slot of its handler, which Asio has since 1.19 (Boost
/// 1.77).
#pragma once

#include <stop_token>
#include <utility>

#include "lido/resource/asio_names.hpp"

namespace lido::detail {
inline namespace LIDO_ASIO_NAMESPACE {

struct asio_stop_request {
  std::stop_source source;
  void operator()() const {
    std::stop_source alive = source;  // the operation may end in here, and this object with it
    (void)alive.request_stop();
  }
};

#if defined(LIDO_ASIO_HAS_CANCELLATION)

template <class Handler>
class asio_slot {
 public:
  explicit asio_slot(const Handler& handler)
      : slot_(net::get_associated_cancellation_slot(handler)) {}

  void assign(const asio_stop_request& stop) {
    if (slot_.is_connected()) {
      slot_.assign(signalled{stop});
    }
  }

  /// To be called where the handler is, just before it: its slot is free for its next operation.
  [[nodiscard]] auto clearer() const {
    return [slot = slot_]() mutable {
      if (slot.is_connected()) {
        slot.clear();
      }
    };
  }

 private:
  struct signalled {
    asio_stop_request stop;
    void operator()(net::cancellation_type type) const {
      // An acquire has no partial results: whatever kind is asked for, it stops.
      if (type != net::cancellation_type::none) {
        stop();
      }
    }
  };

  net::associated_cancellation_slot_t<Handler> slot_;
};

#else

/// There are none.
template <class Handler>
class asio_slot {
 public:
  explicit asio_slot(const Handler& /*handler*/) noexcept {}
  void assign(const asio_stop_request& /*stop*/) noexcept {}
  [[nodiscard]] auto clearer() const {
    return [] {};
  }
};

#endif

/// All in one: what is asked in whatever way reaches `token()`.
template <class Handler>
class asio_stop {
 public:
  asio_stop(const Handler& handler, const std::stop_token& asked)
      : slot_(handler), forward_(asked, asio_stop_request{source_}) {
    slot_.assign(asio_stop_request{source_});
  }

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  void request() const { asio_stop_request{source_}(); }
  [[nodiscard]] auto clearer() const { return slot_.clearer(); }

 private:
  std::stop_source source_;
  asio_slot<Handler> slot_;
  std::stop_callback<asio_stop_request> forward_;
};

}  // namespace LIDO_ASIO_NAMESPACE
}  // namespace lido::detail
