#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "lido/tcp.hpp"
#include "peers.hpp"
#include "servers/echo_server.hpp"

namespace chaos {

namespace {

using namespace std::chrono_literals;

class echo_link : public link {
 public:
  explicit echo_link(lido::tcp_factory::socket connected) : socket_(std::move(connected)) {}
  ~echo_link() override { lido::tcp_factory::destroy(socket_, lido::destroy_reason::closed); }

  [[nodiscard]] bool ask(const std::string& word) override {
    const std::string question = word + '\n';
    if (::send(socket_.native_handle(), question.data(), question.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(question.size())) {
      return false;
    }
    std::string answer;
    const lido::create_context limit{std::chrono::steady_clock::now() + 200ms, {}};
    while (answer.size() < question.size()) {
      std::string part(question.size() - answer.size(), ' ');
      const auto ready = lido::detail::wait_for(socket_.native_handle(), POLLIN, limit);
      const ssize_t got =
          ready == 0 ? ::recv(socket_.native_handle(), part.data(), part.size(), 0) : -1;
      if (got <= 0) {
        return false;
      }
      answer += part.substr(0, static_cast<std::size_t>(got));
    }
    return answer == question;
  }
  [[nodiscard]] bool validate(const lido::create_context& /*context*/) override {
    return lido::tcp_factory::validate(socket_);
  }
  [[nodiscard]] bool reset() override { return lido::tcp_factory::reset(socket_); }

 private:
  lido::tcp_factory::socket socket_;
};

class echo_backend : public backend {
 public:
  [[nodiscard]] std::unique_ptr<link> connect(const lido::create_context& context) override {
    return std::make_unique<echo_link>(factory_.create(context));
  }

  fault harm(stress::random& random) override {
    switch (random() % 6) {
      case 0:
        server_.hang_up();
        return {"hung_up", /*stops_service=*/false};
      case 1:
        return fall_silent();
      case 2:
        server_.refuse(/*on=*/true);
        server_.hang_up();
        return {"refused", /*stops_service=*/true};
      case 3:
        return server_.vanish(/*on=*/true) ? fault{"vanished", /*stops_service=*/true}
                                           : fall_silent();
      case 4:
        return server_.forget() ? fault{"forgotten", /*stops_service=*/false} : fall_silent();
      default:
        server_.speak_unasked();
        return {"spoke_unasked", /*stops_service=*/false};
    }
  }
  void heal() override {
    server_.fall_silent(/*on=*/false);
    (void)server_.vanish(/*on=*/false);
    server_.refuse(/*on=*/false);
  }

 private:
  /// Silences the peer: its TCP acknowledges what arrives, but it sends no answer.
  fault fall_silent() {
    server_.fall_silent(/*on=*/true);
    return {"silent", /*stops_service=*/true};
  }

  servers::echo_server server_;
  boost::asio::io_context context_;
  lido::tcp_factory factory_{context_.get_executor(),
                             {.host = "127.0.0.1", .port = std::to_string(server_.port())}};
};

}  // namespace

std::unique_ptr<backend> make_echo() {
  return std::make_unique<echo_backend>();
}

}  // namespace chaos
