/// @file
/// Internal. A port at which a connect is neither accepted nor refused.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace lido {

/// A listener with a full queue, so that further connects hang.
class deaf_listener {
  using tcp = boost::asio::ip::tcp;

 public:
  explicit deaf_listener(const tcp::endpoint& at = {boost::asio::ip::address_v4::loopback(),
                                                    /*port_num=*/0}) {
    acceptor_.open(at.protocol());
    acceptor_.bind(at);
    acceptor_.listen(0);
    for (auto& filler : fillers_) {
      filler.async_connect(acceptor_.local_endpoint(), [](boost::system::error_code) {});
    }
  }
  [[nodiscard]] int port() const { return acceptor_.local_endpoint().port(); }

 private:
  boost::asio::io_context context_;
  tcp::acceptor acceptor_{context_};
  std::array<tcp::socket, 4> fillers_{tcp::socket(context_), tcp::socket(context_),
                                      tcp::socket(context_), tcp::socket(context_)};
};

}  // namespace lido
