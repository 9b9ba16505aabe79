/// @file
/// Internal. How an operation of Asio is told to stop: by the caller's stop token, and by the
/// cancellation slot of its handler, which Asio has since 1.19 (Boost 1.77).
#pragma once

#include <optional>
#include <stop_token>
#include <utility>

#include "lido/resource/asio_names.hpp"

namespace lido::detail {
inline namespace LIDO_ASIO_NAMESPACE {

#if defined(LIDO_ASIO_HAS_CANCELLATION)

/// Both in one: what is asked through the slot or the token reaches `token()`.
template <class Handler>
class asio_stop {
 public:
  using slot_type = net::associated_cancellation_slot_t<Handler>;

  asio_stop(const Handler& handler, std::stop_token asked)
      : asked_(std::move(asked)), slot_(net::get_associated_cancellation_slot(handler)) {
    if (slot_.is_connected()) {
      source_ = std::stop_source();
      forward_.emplace(asked_, forwarder{source_});
      slot_.assign(signalled{{source_}});
    }
  }

  [[nodiscard]] std::stop_token token() const {
    return slot_.is_connected() ? source_.get_token() : asked_;
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
  struct forwarder {
    std::stop_source source;
    void operator()() const {
      std::stop_source alive = source;  // the operation may end in here, and this object with it
      (void)alive.request_stop();
    }
  };

  struct signalled {
    forwarder stop;
    void operator()(net::cancellation_type type) const {
      // An acquire has no partial results: whatever kind is asked for, it stops.
      if (type != net::cancellation_type::none) {
        stop();
      }
    }
  };

  std::stop_token asked_;
  slot_type slot_;
  std::stop_source source_{std::nostopstate};
  std::optional<std::stop_callback<forwarder>> forward_;
};

#else

/// Without slots there is only the token.
template <class Handler>
class asio_stop {
 public:
  asio_stop(const Handler& /*handler*/, std::stop_token asked) : asked_(std::move(asked)) {}

  [[nodiscard]] const std::stop_token& token() const { return asked_; }

  [[nodiscard]] auto clearer() const {
    return [] {};
  }

 private:
  std::stop_token asked_;
};

#endif

}  // namespace LIDO_ASIO_NAMESPACE
}  // namespace lido::detail
