#include "echo_server.hpp"

#include <linux/filter.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <utility>

namespace servers {

namespace net = boost::asio;
using error_code = boost::system::error_code;

namespace {

/// Makes the socket lose packets: a filter sees them before TCP does, and drops them.
bool lose_packets(int socket, bool on) {
  sock_filter drop{BPF_RET | BPF_K, 0, 0, 0};
  const sock_fprog program{1, &drop};
  return on ? ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0
            : ::setsockopt(socket, SOL_SOCKET, SO_DETACH_FILTER, &program, sizeof(int)) == 0;
}

/// Closes the socket silently, by its repair mode.
bool silence(int socket) {
  const int on = 1;
  return ::setsockopt(socket, IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) == 0;
}

}  // namespace

struct echo_server::session : std::enable_shared_from_this<session> {
  session(echo_server& of, tcp::socket connected) : server(of), socket(std::move(connected)) {
    ++server.open_;
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() { --server.open_; }

  void read() {
    socket.async_read_some(net::buffer(bytes),
                           [self = shared_from_this()](error_code failed, std::size_t size) {
                             if (failed) {
                               self->server.sessions_.erase(self);
                             } else if (self->server.silent_) {
                               self->read();
                             } else {
                               self->write(size);
                             }
                           });
  }

  void write(std::size_t size) {
    net::async_write(socket, net::buffer(bytes, size),
                     [self = shared_from_this()](error_code failed, std::size_t /*sent*/) {
                       if (failed) {
                         self->server.sessions_.erase(self);
                       } else {
                         self->read();
                       }
                     });
  }

  echo_server& server;
  tcp::socket socket;
  std::array<char, 4096> bytes{};
};

echo_server::echo_server() {
  listen();
  port_ = acceptor_.local_endpoint().port();
  thread_ = std::jthread([this] {
    const auto work = net::make_work_guard(context_);
    context_.run();
  });
}

echo_server::~echo_server() {
  run([this] {
    acceptor_.close();
    sessions_.clear();
  });
  context_.stop();
  thread_.join();
}

void echo_server::listen() {
  acceptor_.open(tcp::v4());
  acceptor_.set_option(net::socket_base::reuse_address(true));
  acceptor_.bind({net::ip::address_v4::loopback(), static_cast<std::uint16_t>(port_)});
  acceptor_.listen();
  accept();
}

void echo_server::accept() {
  acceptor_.async_accept([this](error_code failed, tcp::socket connected) {
    if (failed == net::error::operation_aborted) {
      return;
    }
    if (!failed) {
      ++accepted_;
      error_code ignored;
      connected.set_option(tcp::no_delay(true), ignored);
      const auto made = std::make_shared<session>(*this, std::move(connected));
      sessions_.insert(made);
      made->read();
    }
    accept();
  });
}

/// Runs `f` in the thread of the server, and waits for it.
template <class F>
void echo_server::run(const F& f) {
  std::promise<void> done;
  net::post(context_, [&] {
    f();
    done.set_value();
  });
  done.get_future().wait();
}

void echo_server::close_all() {
  for (const auto& open : sessions_) {
    error_code ignored;
    open->socket.close(ignored);
  }
  sessions_.clear();
}

void echo_server::hang_up() {
  run([this] {
    for (const auto& open : sessions_) {
      error_code ignored;
      open->socket.shutdown(tcp::socket::shutdown_both, ignored);
    }
    close_all();
  });
}

bool echo_server::vanish(bool on) {
  bool all = true;
  run([this, on, &all] {
    all = lose_packets(acceptor_.native_handle(), on);
    for (const auto& open : sessions_) {
      all = lose_packets(open->socket.native_handle(), on) && all;
    }
  });
  return all;
}

bool echo_server::forget() {
  bool all = true;
  run([this, &all] {
    all = std::all_of(sessions_.begin(), sessions_.end(),
                      [](const auto& open) { return silence(open->socket.native_handle()); });
    if (all) {
      close_all();
    }
  });
  return all;
}

void echo_server::speak_unasked() {
  run([this] {
    for (const auto& open : sessions_) {
      error_code ignored;
      (void)net::write(open->socket, net::buffer("unasked\n", 8), ignored);
    }
  });
}

void echo_server::refuse(bool on) {
  run([this, on] {
    if (on) {
      acceptor_.close();
    } else if (!acceptor_.is_open()) {
      listen();
    }
  });
}

}  // namespace servers
