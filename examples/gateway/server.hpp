/// @file
/// The gateway: takes lines from clients, has each answered by the backend, sends the answers.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gateway {

/// Runs in `threads` threads, in which `answer` may block.
class server {
 public:
  using tcp = boost::asio::ip::tcp;
  using answerer = std::function<std::string(const std::string&)>;

  server(unsigned threads, answerer answer) : answer_(std::move(answer)) {
    accept();
    for (unsigned i = 0; i < threads; ++i) {
      threads_.emplace_back([this] { context_.run(); });
    }
  }
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server() {
    context_.stop();
    threads_.clear();
  }

  [[nodiscard]] int port() const { return acceptor_.local_endpoint().port(); }

 private:
  /// One client. Its handlers follow one another.
  struct session : std::enable_shared_from_this<session> {
    session(const answerer& by, tcp::socket connected) : answer(by), socket(std::move(connected)) {}

    void read() {
      boost::asio::async_read_until(
          socket, boost::asio::dynamic_buffer(input), '\n',
          [self = shared_from_this()](boost::system::error_code failed, std::size_t size) {
            if (!failed) {
              self->reply(size);
            }
          });
    }

    void reply(std::size_t size) {
      try {
        output = answer(input.substr(0, size - 1)) + '\n';
      } catch (const std::exception& problem) {
        output = std::string("ERROR ") + problem.what() + '\n';
      }
      input.erase(0, size);
      boost::asio::async_write(
          socket, boost::asio::buffer(output),
          [self = shared_from_this()](boost::system::error_code failed, std::size_t /*sent*/) {
            if (!failed) {
              self->read();
            }
          });
    }

    const answerer& answer;
    tcp::socket socket;
    std::string input;
    std::string output;
  };

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code failed, tcp::socket connected) {
      if (failed) {
        return;
      }
      connected.set_option(tcp::no_delay(true));
      std::make_shared<session>(answer_, std::move(connected))->read();
      accept();
    });
  }

  answerer answer_;
  boost::asio::io_context context_;
  tcp::acceptor acceptor_{context_, {boost::asio::ip::address_v4::loopback(), 0}};
  std::vector<std::jthread> threads_;
};

}  // namespace gateway
