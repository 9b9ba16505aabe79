/// @file
/// The gateway: reads lines from clients, has each answered by the backend, sends the answers.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "line.hpp"

namespace gateway {

/// Runs in `threads` threads, in which `answer` may block.
class server {
 public:
  using tcp = boost::asio::ip::tcp;
  using reply = std::function<void(std::string)>;
  /// Must call the reply once, now or later, in a thread of the server.
  using answerer = std::function<void(boost::asio::io_context&, const std::string&, reply)>;

  server(unsigned threads, answerer answer) : answer_(std::move(answer)) {
    accept();
    try {
      for (unsigned i = 0; i < threads; ++i) {
        threads_.emplace_back([this] { context_.run(); });
      }
    } catch (...) {
      context_.stop();  // otherwise open connections would be waited for
      throw;
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
    session(boost::asio::io_context& in, const answerer& by, tcp::socket connected)
        : context(in), answer(by), socket(std::move(connected)) {}

    void read() {
      boost::asio::async_read_until(
          socket, boost::asio::dynamic_buffer(input, longest_line), '\n',
          [self = shared_from_this()](boost::system::error_code failed, std::size_t size) {
            if (!failed) {
              self->respond(size);
            }
          });
    }

    void respond(std::size_t size) {
      const std::string question = input.substr(0, size - 1);
      input.erase(0, size);
      answer(context, question,
             [self = shared_from_this()](const std::string& text) { self->write(text); });
    }

    void write(const std::string& text) {
      output = text + '\n';
      boost::asio::async_write(
          socket, boost::asio::buffer(output),
          [self = shared_from_this()](boost::system::error_code failed, std::size_t /*sent*/) {
            if (!failed) {
              self->read();
            }
          });
    }

    boost::asio::io_context& context;
    const answerer& answer;
    tcp::socket socket;
    std::string input;
    std::string output;
  };

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code failed, tcp::socket connected) {
      if (failed) {
        accept_later();
        return;
      }
      boost::system::error_code ignored;  // a client that has gone needs no option
      connected.set_option(tcp::no_delay(true), ignored);
      std::make_shared<session>(context_, answer_, std::move(connected))->read();
      accept();
    });
  }

  /// Accepts again after a pause: a failure may pass, as for a lack of descriptors, or because a
  /// client left.
  void accept_later() {
    pause_.expires_after(std::chrono::milliseconds(20));
    pause_.async_wait([this](boost::system::error_code failed) {
      if (!failed) {
        accept();
      }
    });
  }

  answerer answer_;
  boost::asio::io_context context_;
  tcp::acceptor acceptor_{context_, {boost::asio::ip::address_v4::loopback(), 0}};
  boost::asio::steady_timer pause_{context_};
  std::vector<std::jthread> threads_;
};

}  // namespace gateway
