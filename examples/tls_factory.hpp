// A factory of encrypted connections by Asio and OpenSSL, for protocols in which the peer speaks
// only when asked. The header is part of an example, and not of Lido.
#pragma once

#include <utility>  // before Boost 1.74, which needs it

#include <array>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <future>
#include <lido/tcp.hpp>
#include <memory>
#include <stop_token>
#include <string>

namespace net = boost::asio;

using tls_stream = net::ssl::stream<lido::tcp_factory::socket>;

// [snippet]
class tls_factory {
 public:
  /// `loop` has one thread, which runs it. `target.host` is a name in the server's certificate.
  tls_factory(const net::any_io_executor& loop, std::shared_ptr<net::ssl::context> tls,
              const lido::tcp_target& target)
      : tcp_(loop, target), tls_(std::move(tls)), host_(target.host) {}

  [[nodiscard]] tls_stream create(const lido::create_context& limit) const {
    tls_stream made(tcp_.create(limit), *tls_);
    made.set_verify_mode(net::ssl::verify_peer);
    made.set_verify_callback(net::ssl::host_name_verification(host_));
    (void)SSL_set_tlsext_host_name(made.native_handle(), host_.c_str());
    bool is_late = false;
    {
      const std::stop_callback stop(limit.stop, [&made] { interrupt(made); });
      std::future<void> done = made.async_handshake(tls_stream::client, net::use_future);
      is_late = done.wait_until(limit.deadline) == std::future_status::timeout;
      if (is_late) {
        interrupt(made);
      }
      done.get();  // throws if the handshake has failed
    }
    if (is_late || limit.stop.stop_requested()) {  // it succeeded, but the socket is shut down
      throw boost::system::system_error(is_late ? net::error::timed_out
                                                : net::error::operation_aborted);
    }
    return made;
  }

  /// Returns true if the peer has neither sent data nor hung up. With TLS 1.3 the socket alone does
  /// not show this: after the handshake, servers send tickets that no user has read yet.
  static bool validate(tls_stream& idle) {
    std::array<char, 1> byte{};
    boost::system::error_code got;
    idle.next_layer().non_blocking(true);
    (void)idle.read_some(net::buffer(byte), got);
    idle.next_layer().non_blocking(false);
    return got == net::error::would_block;
  }
  static bool reset(tls_stream& used) { return validate(used); }

  static void interrupt(tls_stream& used) noexcept {
    lido::tcp_factory::interrupt(used.next_layer());
  }

  /// Tells the peer that the session ends, and does not wait for its answer.
  static void destroy(tls_stream& ended, lido::destroy_reason why) noexcept {
    boost::system::error_code ignored;
    ended.next_layer().non_blocking(true, ignored);
    ended.shutdown(ignored);
    lido::tcp_factory::destroy(ended.next_layer(), why);
  }

 private:
  lido::tcp_factory tcp_;
  std::shared_ptr<net::ssl::context> tls_;
  std::string host_;
};
// [/snippet]
