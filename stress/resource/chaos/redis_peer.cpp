#include <chrono>
#include <csignal>
#include <string>
#include <utility>

#include "peers.hpp"
#ifdef LIDO_CHAOS_REDIS
#include "lido/hiredis.hpp"
#include "servers/known_servers.hpp"
#endif

namespace chaos {

#ifdef LIDO_CHAOS_REDIS

namespace {

using namespace std::chrono_literals;

class redis_link : public link {
 public:
  redis_link(const lido::redis_factory& factory, lido::redis_connection connection)
      : factory_(factory), connection_(std::move(connection)) {}

  [[nodiscard]] bool ask(const std::string& word) override {
    try {
      return connection_.ask("ECHO " + word).text == word;
    } catch (const std::runtime_error&) {
      return false;
    }
  }
  [[nodiscard]] bool validate(const lido::create_context& context) override {
    return factory_.validate(connection_, context);
  }
  [[nodiscard]] bool reset() override { return factory_.reset(connection_); }

 private:
  const lido::redis_factory& factory_;
  lido::redis_connection connection_;
};

class redis_backend : public backend {
 public:
  [[nodiscard]] std::unique_ptr<link> connect(const lido::create_context& context) override {
    return std::make_unique<redis_link>(factory_, factory_.create(context));
  }

  fault harm(stress::random& random) override {
    switch (random() % 3) {
      case 0:
        server_.process().end(SIGKILL);
        is_dead_ = true;
        return {"killed", /*stops_service=*/true};
      case 1:
        server_.process().signal(SIGSTOP);
        return {"stopped", /*stops_service=*/true};
      default:
        kill_clients();
        return {"sessions_ended", /*stops_service=*/false};
    }
  }
  void heal() override {
    server_.process().signal(SIGCONT);
    if (std::exchange(is_dead_, false)) {
      server_.restart();
    }
  }

 private:
  void kill_clients() {
    try {
      (void)factory_.create({std::chrono::steady_clock::now() + 5s, {}})
          .ask("CLIENT KILL TYPE normal SKIPME yes");
    } catch (const std::runtime_error&) {  // the server is too busy
    }
  }

  servers::redis server_;
  lido::redis_factory factory_{
      {.port = server_.port(), .password = servers::password, .command_timeout = 200ms}};
  bool is_dead_ = false;
};

}  // namespace

std::unique_ptr<backend> make_redis() {
  return servers::redis::program() ? std::make_unique<redis_backend>() : nullptr;
}

#else

std::unique_ptr<backend> make_redis() {
  return nullptr;
}

#endif

}  // namespace chaos
