// An HTTP endpoint for health checks, with Boost.Beast. The header is part of an example, and not
// of Lido.
#pragma once

#include <utility>  // before Boost 1.74, which needs it

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "health.hpp"

// [snippet]
namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using boost::system::error_code;
using pages = std::function<http_answer(const std::string& path)>;

/// Answers one request, and closes the connection. A client that is slow has five seconds.
class health_check : public std::enable_shared_from_this<health_check> {
 public:
  health_check(tcp::socket client, const pages& all) : client_(std::move(client)), all_(all) {}

  void read() {
    client_.expires_after(std::chrono::seconds(5));
    http::async_read(client_, buffer_, request_,
                     [self = shared_from_this()](error_code failed, std::size_t /*size*/) {
                       if (!failed) {
                         self->answer();
                       }
                     });
  }

 private:
  void answer() {
    const http_answer found = all_(std::string(request_.target()));
    response_.result(static_cast<unsigned>(found.status));
    response_.set(http::field::content_type, "text/plain");
    response_.keep_alive(false);
    response_.body() = found.text + '\n';
    response_.prepare_payload();
    http::async_write(client_, response_,
                      [self = shared_from_this()](error_code /*failed*/, std::size_t /*size*/) {});
  }

  boost::beast::tcp_stream client_;
  const pages& all_;
  boost::beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  http::response<http::string_body> response_;
};

/// Serves the pages to all clients. Requires: both arguments outlive every run of the context.
inline void serve(tcp::acceptor& door, const pages& all) {
  door.async_accept([&](error_code failed, tcp::socket client) {
    if (!failed) {
      std::make_shared<health_check>(std::move(client), all)->read();
    }
    serve(door, all);
  });
}
// [/snippet]
