// A server with a thread for each client: clients' requests go to a backend through a pool of
// connections. SIGTERM ends it. Backend and client are here, too, so that the program runs by
// itself.
// Boost 1.74 knows that of GCC alone. NOLINTNEXTLINE(readability-identifier-naming)
#define BOOST_ASIO_HAS_STD_IOSTREAM_MOVE
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <lido/resource_pool.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace net = boost::asio;
using net::ip::tcp;
using namespace std::chrono_literals;

// [snippet connector]
std::string ask(tcp::iostream& backend, const std::string& question) {
  std::string answer;
  if (backend << question << std::endl && std::getline(backend, answer)) {
    return answer;
  }
  throw std::runtime_error("no answer");
}

struct connector {
  tcp::endpoint backend;

  [[nodiscard]] tcp::iostream create(const lido::create_context& context) const {
    tcp::iostream made;
    made.expires_at(context.deadline);
    made.connect(backend);
    if (!made) {
      throw std::runtime_error("connect: " + made.error().message());  // tried again later
    }
    return made;
  }
  static bool validate(tcp::iostream& idle, const lido::create_context& context) {
    idle.expires_at(context.deadline);
    return ask(idle, "ping") == "answer to ping";
  }
};
using backend_pool = lido::resource_pool<tcp::iostream>;
// [/snippet]

// [snippet answer]
std::string answer_to(backend_pool& pool, const std::string& question) try {
  const bool is_check = question == "health";
  const auto backend = is_check ? pool.acquire_urgent(500ms) : pool.acquire_for(1s);
  backend->expires_after(500ms);
  return ask(*backend, question);
} catch (const std::exception& problem) {  // the lease has discarded its connection
  return problem.what();
}
// [/snippet]

template <class Answer>
void answer_lines(tcp::iostream& peer, const Answer& answer) {
  for (std::string line; std::getline(peer, line);) {
    if (const std::string text = answer(line); !text.empty()) {
      peer << text << std::endl;
    }
  }
}

/// Serves each peer in a thread, until the acceptor is shut down and all peers have hung up.
template <class Answer>
void listen(tcp::acceptor& acceptor, Answer answer) {
  std::vector<std::jthread> threads;
  boost::system::error_code ended;
  while (!ended) {
    tcp::iostream peer;
    acceptor.accept(peer.socket(), ended);
    threads.emplace_back(
        [peer = std::move(peer), answer]() mutable { answer_lines(peer, answer); });
  }
}

void stop(tcp::acceptor& acceptor) {
  ::shutdown(acceptor.native_handle(), SHUT_RDWR);
}

int main() try {
  sigset_t terminate{};
  ::sigemptyset(&terminate);
  ::sigaddset(&terminate, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &terminate, nullptr);  // before all threads: they inherit it

  net::io_context context;
  const tcp::endpoint any_port(net::ip::address_v4::loopback(), 0);
  tcp::acceptor backends(context, any_port);
  tcp::acceptor clients(context, any_port);
  const std::jthread backend([&] {
    listen(backends, [](const std::string& question) {
      return question == "a riddle" ? std::string() : "answer to " + question;
    });
  });
  const std::jthread client([server = clients.local_endpoint()] {
    tcp::iostream peer(server);
    for (const auto* const question : {"one", "a riddle", "two", "health"}) {
      std::cout << question << ": " << ask(peer, question) << '\n';
    }
    ::kill(::getpid(), SIGTERM);
  });
  // [snippet pool]
  backend_pool pool(connector{backends.local_endpoint()},
                    {.max_size = 4, .reserve = 1, .name = "backend"});
  const std::jthread server([&] {
    listen(clients, [&pool](const std::string& question) { return answer_to(pool, question); });
  });
  // [/snippet]
  // [snippet end]
  int signal = 0;
  ::sigwait(&terminate, &signal);
  stop(clients);                       // no new clients
  const auto report = pool.close(5s);  // requests under way end, new ones are refused
  std::cout << (report.complete() ? "closed" : "some leases are left") << '\n';
  // [/snippet]
  stop(backends);
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   one: answer to one
//   a riddle: no answer
//   two: answer to two
//   health: answer to health
//   closed
