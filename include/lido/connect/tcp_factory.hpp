/// @file
/// Public. Makes TCP connections of Boost.Asio for a `resource_pool`.
#pragma once

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <stop_token>
#include <string>
#include <utility>

#include "lido/connect/quiet_socket.hpp"
#include "lido/resource/factory.hpp"

namespace lido {

struct tcp_target {
  std::string host;
  std::string port;        ///< a number or the name of a service
  bool no_delay = true;    ///< small messages are sent at once
  bool keep_alive = true;  ///< the kernel looks after a silent peer, by its own times
};

/// A factory of `boost::asio::ip::tcp::socket` for protocols in which the peer speaks when asked.
///
/// Thread-safe; its functions block. The sockets belong to the executor, which must outlive them.
class tcp_factory {
 public:
  using socket = boost::asio::ip::tcp::socket;

  tcp_factory(boost::asio::any_io_executor executor, tcp_target target)
      : executor_(std::move(executor)), target_(std::move(target)) {}

  /// Connects to the first address that answers; each has its share of the time that is left, so
  /// that one that is silent leaves some to the others. Throws boost::system::system_error: that of
  /// the last address, `timed_out` at the deadline, `operation_aborted` when asked to stop. Looking
  /// up the name heeds neither, as getaddrinfo(3) does not; numeric addresses need none. Never a
  /// connection to itself, as it can come to pass where nobody listens: `connection_refused`.
  /// Throws permanent_failure if the port is a number that no port has, or empty.
  /// Programs that this one starts do not inherit the socket.
  [[nodiscard]] socket create(const create_context& context) const {
    if (has_no_such_port()) {
      throw permanent_failure("connect to " + target_.host + ":" + target_.port +
                              ": there is no such port");
    }
    boost::asio::io_context own;
    socket connecting(own);
    if (const auto failed = connect(own, connecting, context)) {
      throw boost::system::system_error(failed, "connect to " + target_.host + ":" + target_.port);
    }
    return adopt(connecting);
  }

  /// Whether the peer has neither spoken nor hung up. A peer that vanished without a word is seen
  /// by keep_alive alone, or by a question of the protocol's own.
  static bool validate(socket& idle) noexcept { return detail::is_quiet(idle.native_handle()); }

  /// The same, so that nobody reads an answer to another's question that has arrived. Who ends in
  /// the middle of an exchange, or shuts a direction down, has to discard the lease. The socket
  /// blocks again, also for system calls after asynchronous operations, and without the limits of
  /// SO_RCVTIMEO and SO_SNDTIMEO. Its other options stay: who sets one sets the old one back.
  static bool reset(socket& used) noexcept {
    return used.is_open() && block_again(used) && detail::is_quiet(used.native_handle());
  }

  static void destroy(socket& ended, destroy_reason /*reason*/) noexcept {
    boost::system::error_code ignored;
    ended.shutdown(socket::shutdown_both, ignored);
    ended.close(ignored);
  }

 private:
  /// A number that getaddrinfo(3) would take the lower 16 bits of.
  [[nodiscard]] bool has_no_such_port() const {
    char* end = nullptr;
    const long number = std::strtol(target_.port.c_str(), &end, 10);
    return *end == '\0' && (number < 1 || number > 65535);
  }

  static bool block_again(socket& used) noexcept {
    boost::system::error_code failed;
    if (used.non_blocking() || used.native_non_blocking()) {
      used.non_blocking(false, failed);  // the native one, too
    }
    constexpr timeval for_ever{};
    const auto wait = [&used, &for_ever](int option) {
      return ::setsockopt(used.native_handle(), SOL_SOCKET, option, &for_ever, sizeof for_ever) ==
             0;
    };
    return !failed && wait(SO_RCVTIMEO) && wait(SO_SNDTIMEO);
  }

  boost::system::error_code connect(boost::asio::io_context& own, socket& connecting,
                                    const create_context& context) const {
    boost::asio::ip::tcp::resolver resolver(own);
    boost::system::error_code result = boost::asio::error::timed_out;
    boost::system::error_code unknown;
    const auto addresses = resolver.resolve(target_.host, target_.port, unknown);
    if (unknown) {
      return unknown;
    }
    std::size_t left = addresses.size();
    for (const auto& address : addresses) {
      const auto now = std::chrono::steady_clock::now();
      const auto share = (context.deadline - now) / static_cast<std::ptrdiff_t>(left--);
      result = connect_to(address, own, connecting, {now + share, context.stop});
      if (!result || result == boost::asio::error::operation_aborted) {
        break;
      }
    }
    return result;
  }

  static boost::system::error_code connect_to(const boost::asio::ip::tcp::endpoint& address,
                                              boost::asio::io_context& own, socket& connecting,
                                              const create_context& context) {
    if (const auto failed = open(address.protocol(), connecting)) {
      return failed;
    }
    boost::system::error_code result = boost::asio::error::timed_out;
    connecting.async_connect(address,
                             [&result](boost::system::error_code error) { result = error; });
    const auto give_up = [&own, &result] {
      result = boost::asio::error::operation_aborted;
      own.stop();
    };
    {
      const std::stop_callback on_stop(context.stop,
                                       [&own, &give_up] { boost::asio::post(own, give_up); });
      own.run_until(context.deadline);
    }
    if (!result && detail::is_own_peer(connecting.native_handle())) {
      result = boost::asio::error::connection_refused;  // nobody listens there
    }
    const boost::system::error_code found = result;
    if (found) {  // what is left of the attempt knows this function's variables
      boost::system::error_code ignored;
      connecting.close(ignored);
      do {  // one of them stops the context
        own.restart();
      } while (own.run_one() != 0);
      own.restart();
    }
    return found;
  }

  /// Not as Asio does it, whose sockets are inherited.
  static boost::system::error_code open(const boost::asio::ip::tcp& protocol, socket& opened) {
    const int handle = detail::open_stream(protocol.family());
    if (handle < 0) {
      return {errno, boost::system::system_category()};
    }
    return take(protocol, handle, opened);
  }

  /// Closes the handle if it cannot be taken.
  static boost::system::error_code take(const boost::asio::ip::tcp& protocol, int handle,
                                        socket& taker) {
    boost::system::error_code failed;
    taker.assign(protocol, handle, failed);
    if (failed) {
      ::close(handle);
    }
    return failed;
  }

  /// From the context it was connected in to that of its users.
  socket adopt(socket& connected) const {
    const auto protocol = connected.local_endpoint().protocol();
    socket adopted(executor_);
    if (const auto failed = take(protocol, connected.release(), adopted)) {
      throw boost::system::system_error(failed, "assign");
    }
    adopted.set_option(boost::asio::ip::tcp::no_delay(target_.no_delay));
    adopted.set_option(boost::asio::socket_base::keep_alive(target_.keep_alive));
    adopted.non_blocking(false);
    return adopted;
  }

  boost::asio::any_io_executor executor_;
  tcp_target target_;
};

}  // namespace lido
