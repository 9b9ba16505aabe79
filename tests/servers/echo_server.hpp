/// @file
/// A server of our own, in this process: sends back each line. With the faults that real ones have.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <set>
#include <thread>

namespace servers {

class echo_server {
 public:
  using tcp = boost::asio::ip::tcp;

  /// At a free port of 127.0.0.1, in a thread of its own.
  echo_server();
  echo_server(const echo_server&) = delete;
  echo_server& operator=(const echo_server&) = delete;
  ~echo_server();

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int connections() const { return open_; }
  [[nodiscard]] int accepted() const { return accepted_; }

  /// Closes all connections there are.
  void hang_up();
  /// Sends a line to everybody, unasked.
  void speak_unasked();
  /// From now on, silently: takes what comes, answers nothing.
  void fall_silent(bool on) { silent_ = on; }
  /// Refuses connections, or takes them again at the same port.
  void refuse(bool on);
  /// From now on every packet to this server is lost, also those that ask for a connection. Peers
  /// hear nothing, not even that their data has arrived, as of a machine without its cable. Or:
  /// the cable is back, and what peers have sent in between they send again. False: the system
  /// does not do it.
  bool vanish(bool on);
  /// Forgets all connections without a word, as a machine whose power was cut: peers hear RST when
  /// they say something. False: only root may.
  bool forget();

 private:
  struct session;

  void listen();
  void accept();
  void close_all();
  template <class F>
  void run(const F& f);

  std::atomic<int> open_{0};
  std::atomic<int> accepted_{0};
  std::atomic<bool> silent_{false};
  boost::asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  int port_ = 0;
  std::set<std::shared_ptr<session>> sessions_;  // of the thread
  std::jthread thread_;
};

}  // namespace servers
