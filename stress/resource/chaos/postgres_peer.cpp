#include "peers.hpp"
#ifdef LIDO_CHAOS_POSTGRES
#include <libpq-fe.h>
#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lido/libpq.hpp"
#include "servers/known_servers.hpp"
#endif

namespace chaos {

#ifdef LIDO_CHAOS_POSTGRES

namespace {

using namespace std::chrono_literals;
using result_pointer = std::unique_ptr<PGresult, decltype(&PQclear)>;

/// Returns the first result of a query, or null if none comes within a fraction of a second.
result_pointer ask_in_time(PGconn* connection, const char* query, const char* value) {
  const auto end = std::chrono::steady_clock::now() + 200ms;
  if (PQsendQueryParams(connection, query, value != nullptr ? 1 : 0, nullptr, &value, nullptr,
                        nullptr, /*resultFormat=*/0) == 0) {
    return {nullptr, &PQclear};
  }
  while (PQisBusy(connection) != 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd readable{PQsocket(connection), POLLIN, 0};
    if (left <= 0ms || ::poll(&readable, 1, static_cast<int>(left.count())) != 1 ||
        PQconsumeInput(connection) == 0) {
      return {nullptr, &PQclear};
    }
  }
  result_pointer first(PQgetResult(connection), &PQclear);
  while (PGresult* const more = PQgetResult(connection)) {
    PQclear(more);
  }
  return first;
}

class postgres_link : public link {
 public:
  postgres_link(const lido::postgres_factory& factory, lido::postgres_connection connection)
      : factory_(factory), connection_(std::move(connection)) {}

  [[nodiscard]] bool ask(const std::string& word) override {
    const result_pointer result = ask_in_time(connection_.get(), "SELECT $1::text", word.c_str());
    return PQresultStatus(result.get()) == PGRES_TUPLES_OK &&
           PQgetvalue(result.get(), 0, 0) == word;
  }
  [[nodiscard]] bool validate(const lido::create_context& context) override {
    return factory_.validate(connection_, context);
  }
  [[nodiscard]] bool reset() override { return factory_.reset(connection_); }

 private:
  const lido::postgres_factory& factory_;
  lido::postgres_connection connection_;
};

/// Harms the server in ways that happen in operation. It kills one process, after which the server
/// ends the others and recovers. It kills all processes and restarts the server, or stops all of
/// them. It ends sessions, or restarts the server.
class postgres_backend : public backend {
 public:
  [[nodiscard]] std::unique_ptr<link> connect(const lido::create_context& context) override {
    return std::make_unique<postgres_link>(factory_, factory_.create(context));
  }

  fault harm(stress::random& random) override {
    switch (random() % 5) {
      case 0:
        kill_one();
        return {"one_killed", /*stops_service=*/false};  // it soon recovers by itself
      case 1:
        stopped_ = sessions("pid");
        server_.process().signal(SIGSTOP);
        signal_stopped(SIGSTOP);
        return {"stopped", /*stops_service=*/true};
      case 2:
        (void)sessions("pid, pg_terminate_backend(pid)");
        return {"sessions_ended", /*stops_service=*/false};
      case 3:
        server_.process().end_family();
        is_down_ = true;
        return {"killed", /*stops_service=*/true};
      default:
        server_.process().end(SIGINT);
        is_down_ = true;
        return {"restarted", /*stops_service=*/true};
    }
  }
  void heal() override {
    signal_stopped(SIGCONT);
    stopped_.clear();
    server_.process().signal(SIGCONT);
    if (std::exchange(is_down_, false)) {
      server_.restart();
    }
  }

 private:
  void kill_one() {
    const std::vector<pid_t> all = sessions("pid");
    if (!all.empty()) {
      (void)::kill(all.front(), SIGKILL);
    }
  }

  /// Applies `what` to every session but its own, and returns the first column. Returns none if the
  /// server is busy or recovers.
  std::vector<pid_t> sessions(const std::string& what) {
    const std::string query = "SELECT " + what +
                              " FROM pg_stat_activity WHERE backend_type = 'client backend' "
                              "AND pid <> pg_backend_pid()";
    std::vector<pid_t> found;
    try {
      const auto admin = factory_.create({std::chrono::steady_clock::now() + 2s, {}});
      const result_pointer rows = ask_in_time(admin.get(), query.c_str(), nullptr);
      for (int row = 0; rows != nullptr && row < PQntuples(rows.get()); ++row) {
        found.push_back(std::stoi(PQgetvalue(rows.get(), row, 0)));
      }
    } catch (const std::runtime_error&) {
      found.clear();
    }
    return found;
  }

  // The system assigns process numbers in turn. A stale one belongs to the same server, or to no
  // process.
  void signal_stopped(int number) const {
    for (const pid_t one : stopped_) {
      (void)::kill(one, number);
    }
  }

  static void hush(const lido::postgres_connection& made, const lido::create_context& /*limit*/) {
    PQsetNoticeProcessor(
        made.get(), [](void*, const char*) {}, nullptr);
  }

  servers::postgres server_;
  lido::postgres_factory factory_{
      {.conninfo = server_.conninfo(), .reset_timeout = 200ms, .on_connect = &hush}};
  std::vector<pid_t> stopped_;
  bool is_down_ = false;
};

}  // namespace

std::unique_ptr<backend> make_postgres() {
  return servers::postgres::program() ? std::make_unique<postgres_backend>() : nullptr;
}

#else

std::unique_ptr<backend> make_postgres() {
  return nullptr;
}

#endif

}  // namespace chaos
