/// @file
/// A server in this process that sends back each line, and has the faults of real servers.
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

  /// Listens at a free port of 127.0.0.1, in its own thread.
  echo_server();
  echo_server(const echo_server&) = delete;
  echo_server& operator=(const echo_server&) = delete;
  ~echo_server();

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] int connections() const { return open_; }
  [[nodiscard]] int accepted() const { return accepted_; }

  /// Closes all open connections.
  void hang_up();
  /// Sends an unrequested line to all clients.
  void speak_unasked();
  /// Turns silence on or off: a silent server reads everything and answers nothing.
  void fall_silent(bool on) { silent_ = on; }
  /// Refuses connections, or accepts them again at the same port.
  void refuse(bool on);
  /// Turns the loss of all packets to this server on or off, including those that request a
  /// connection. Peers hear nothing, not even that their data has arrived, as from a machine
  /// without its cable. Once the loss is off, peers send again what was lost. Returns false if the
  /// system cannot do it.
  bool vanish(bool on);
  /// Forgets all connections silently, as after a power cut: peers get RST when they send. Returns
  /// false if not run by root.
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
  std::set<std::shared_ptr<session>> sessions_;  // used only by the server's thread
  std::jthread thread_;
};

}  // namespace servers
