#include "servers_that_stop.hpp"

#include <libpq-fe.h>
#include <sched.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "lido/hiredis.hpp"
#include "lido/libpq.hpp"
#include "servers/known_servers.hpp"
#include "support/two_addresses.hpp"

namespace outage {

namespace {

constexpr auto patience = 500ms;  // of a client for a server's answer

void ask_redis(lido::redis_connection& redis) {
  if (redis.ask("INCR uses").is_error) {
    throw std::runtime_error("no answer");
  }
}

void ask_postgres(lido::postgres_connection& connection) {
  if (PQsendQuery(connection.get(), "SELECT 1") == 0 ||
      PQresultStatus(connection.finish({clock::now() + patience, {}}).get()) != PGRES_TUPLES_OK) {
    throw std::runtime_error("no answer");
  }
}

class redis_that_stops : public stopping_server {
 public:
  void stop() override { server_.process().end(SIGTERM); }
  void start() override { server_.restart(); }
  [[nodiscard]] std::unique_ptr<lender> make_lender(bool by_hand, std::size_t size,
                                                    connects& all) const override {
    return make_lender_of<lido::redis_connection>(
        by_hand,
        lido::redis_factory(
            {.port = server_.port(), .password = servers::password, .command_timeout = patience}),
        size, all, &ask_redis);
  }

 private:
  servers::redis server_;
};

class pgbouncer_that_stops : public stopping_server {
 public:
  explicit pgbouncer_that_stops(bool with_postgres, bool asked = false)
      : with_postgres_(with_postgres), asked_(asked) {}

  void stop() override {
    (with_postgres_ ? postgres_.process() : bouncer_.process())
        .end(with_postgres_ ? SIGINT : SIGTERM);
  }
  void start() override { with_postgres_ ? postgres_.restart() : bouncer_.restart(); }
  [[nodiscard]] std::unique_ptr<lender> make_lender(bool by_hand, std::size_t size,
                                                    connects& all) const override {
    return make_lender_of<lido::postgres_connection>(
        by_hand,
        lido::postgres_factory({.conninfo = bouncer_.conninfo(),
                                .pooling = lido::postgres_pooling::transaction,
                                .reset_timeout = 200ms,
                                .on_connect = asked_ ? &ask_made : nullptr}),
        size, all, &ask_postgres);
  }

 private:
  static void ask_made(lido::postgres_connection& made, const lido::create_context& /*limit*/) {
    ask_postgres(made);
  }

  bool with_postgres_;
  bool asked_;
  servers::postgres postgres_;
  servers::pgbouncer bouncer_{postgres_, 20, "plain", "server_login_retry = 1\n"};
};

// Addresses in a network of this process alone. Packets to a host that is cut off go to a device
// that drops them.
constexpr const char* host = "10.9.0.2";

void run(const std::string& command) {
  // NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe): a fixed text, in one thread
  if (std::system(command.c_str()) != 0) {
    throw std::runtime_error("skipped: no network of its own: " + command + " fails");
  }
}

class own_network {
 public:
  /// Gives this thread its own network, and all threads and processes that it starts from now on.
  own_network() {
    if (::unshare(CLONE_NEWNET) != 0) {
      throw std::runtime_error("skipped: only root may make a network of its own");
    }
    run("ip link set lo up && ip link add va type veth peer name vb && ip link set vb up && "
        "ip link set va up arp off && ip address add 10.9.0.1/24 dev va");
    plug(/*in=*/true);
  }
  static void plug(bool in) {
    run(std::string("ip address ") + (in ? "add " : "del ") + host + "/32 dev lo");
  }
};

class redis_that_falls_silent : public stopping_server {
 public:
  void stop() override { own_network::plug(/*in=*/false); }
  void start() override { own_network::plug(/*in=*/true); }
  [[nodiscard]] bool has_another() const override { return true; }
  [[nodiscard]] std::unique_ptr<lender> make_lender(bool by_hand, std::size_t size,
                                                    connects& all) const override {
    return make_lender_of<lido::redis_connection>(
        by_hand,
        lido::redis_factory({.host = lido::test::two_addresses_name,
                             .port = other_.port(),
                             .password = servers::password,
                             .command_timeout = patience}),
        size, all, &ask_redis);
  }

 private:
  own_network network_;
  servers::redis other_{servers::redis::role::server, "bind 127.0.0.1\n"};
  servers::redis server_{servers::redis::role::server, std::string("bind ") + host + "\nport " +
                                                           std::to_string(other_.port()) + "\n"};
  lido::test::two_addresses both_{host};
};

}  // namespace

std::unique_ptr<stopping_server> make_redis() {
  return std::make_unique<redis_that_stops>();
}
std::unique_ptr<stopping_server> make_pgbouncer() {
  return std::make_unique<pgbouncer_that_stops>(/*with_postgres=*/false);
}
std::unique_ptr<stopping_server> make_postgres() {
  return std::make_unique<pgbouncer_that_stops>(/*with_postgres=*/true);
}
std::unique_ptr<stopping_server> make_asked_postgres() {
  return std::make_unique<pgbouncer_that_stops>(/*with_postgres=*/true, /*asked=*/true);
}
std::unique_ptr<stopping_server> make_silent_redis() {
  return std::make_unique<redis_that_falls_silent>();
}

}  // namespace outage
