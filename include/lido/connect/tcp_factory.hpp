/// @file
/// Public. Creates TCP connections with Boost.Asio for a `resource_pool`.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lido/connect/dial.hpp"
#include "lido/resource/factory.hpp"

namespace lido::inline v0 {

/// Where and how a `tcp_factory` connects.
struct tcp_target {
  /// Name or address of the host.
  std::string host;
  std::string port;      ///< a number or the name of a service
  bool no_delay = true;  ///< small messages are sent at once
  /// How the kernel finds out that the peer is gone.
  tcp_keep_alive keep_alive = {};
  /// Called with each new connection. If it throws, the create fails.
  std::function<void(boost::asio::ip::tcp::socket&, const create_context&)> on_connect = {};
};

/// A factory of `boost::asio::ip::tcp::socket` for protocols in which the peer sends nothing unless
/// it is asked.
///
/// Thread-safe; its functions block. The sockets belong to the context of the executor, which must
/// outlive them.
class tcp_factory {
 public:
  /// Type of the resources.
  using socket = boost::asio::ip::tcp::socket;

  /// Makes a factory whose sockets use `executor`.
  tcp_factory(boost::asio::any_io_executor executor, tcp_target target)
      : executor_(std::move(executor)), target_(std::move(target)) {}

  /// Connects to the first address that answers, as docs/reference/resource-pool.md describes.
  /// Programs that this process starts do not inherit the socket.
  ///
  /// Throws boost::system::system_error. The error is that of the last address that failed,
  /// `timed_out` at the deadline, or `operation_aborted` if a stop is requested. The deadline and
  /// the stop also end a look-up of the name. Throws permanent_failure if no such port can exist.
  [[nodiscard]] socket create(const create_context& context) const {
    const std::string who = "connect to " + target_.host + ":" + target_.port;
    if (detail::is_no_port(target_.port)) {
      throw permanent_failure(who + ": there is no such port");
    }
    std::vector<detail::address> all;
    detail::socket_handle made = detail::no_socket;
    int failed = detail::look_up(target_.host, target_.port, context, all);
    if (failed == 0) {
      failed = detail::dial(all, target_.keep_alive, *memory_, context, made);
    }
    if (failed != 0) {
      const boost::system::error_code code(failed, boost::system::system_category());
      throw boost::system::system_error(failed > 0 ? code : boost::asio::error::host_not_found,
                                        failed > 0 ? who : who + ": " + detail::text_of(failed));
    }
    socket adopted = adopt(made);
    if (target_.on_connect) {
      target_.on_connect(adopted, context);
    }
    return adopted;
  }

  /// Returns true if the peer has neither sent anything nor hung up. Only keep-alive, or a request
  /// of the protocol itself, detects a peer that vanished silently.
  static bool validate(socket& idle) noexcept { return detail::is_quiet(idle.native_handle()); }

  /// Returns false if the peer has sent anything or has hung up, since the next user must not read
  /// an answer that was meant for this user. A user that stops in the middle of an exchange, or
  /// shuts a direction down, must discard the lease. Makes the socket blocking again, and removes
  /// the limits of SO_RCVTIMEO and SO_SNDTIMEO. Leaves the other options of the socket unchanged.
  static bool reset(socket& used) noexcept {
    return used.is_open() && block_again(used) && detail::is_quiet(used.native_handle());
  }

  /// Shuts the socket down, so that an operation of its user ends with an error. During the call,
  /// the user may start and cancel operations, and shut directions down. The user must not close,
  /// assign or move the socket, since another file could then get the socket's descriptor. Instead,
  /// the user discards the lease.
  static void interrupt(socket& used) noexcept { detail::shut_down(used.native_handle()); }

  /// Shuts the socket down and closes it.
  static void destroy(socket& ended, destroy_reason /*reason*/) noexcept {
    boost::system::error_code ignored;
    ended.shutdown(socket::shutdown_both, ignored);
    ended.close(ignored);
  }

 private:
  static bool block_again(socket& used) noexcept {
    boost::system::error_code failed;
    if (used.non_blocking() || used.native_non_blocking()) {
      used.non_blocking(false, failed);  // also sets the native mode
    }
    return !failed && detail::let_wait_for_ever(used.native_handle());
  }

  [[nodiscard]] socket adopt(detail::socket_handle handle) const {
    socket adopted(executor_);
    boost::system::error_code failed;
    adopted.assign(
        detail::is_of_ipv4(handle) ? boost::asio::ip::tcp::v4() : boost::asio::ip::tcp::v6(),
        handle, failed);
    if (failed) {
      detail::close_socket(handle);
      throw boost::system::system_error(failed, "assign");
    }
    adopted.set_option(boost::asio::ip::tcp::no_delay(target_.no_delay));
    return adopted;
  }

  boost::asio::any_io_executor executor_;
  tcp_target target_;
  // Shared by the copies of a factory.
  std::shared_ptr<detail::address_memory> memory_ = std::make_shared<detail::address_memory>();
};

}  // namespace lido::inline v0
