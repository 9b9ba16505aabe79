/// @file
/// What the gateway can stand in front of: how to connect, and how to ask.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <stdexcept>
#include <string>

#include "lido/tcp.hpp"
#include "servers/echo_server.hpp"
#include "servers/known_servers.hpp"
#ifdef LIDO_GATEWAY_REDIS
#include "lido/hiredis.hpp"
#endif
#ifdef LIDO_GATEWAY_POSTGRES
#include <libpq-fe.h>

#include "lido/libpq.hpp"
#endif

namespace gateway {

/// Our own, in this process.
class echo_backend {
 public:
  using connection = lido::tcp_factory::socket;
  using factory_type = lido::tcp_factory;

  [[nodiscard]] factory_type factory() {
    return factory_type(context_.get_executor(),
                        {.host = "127.0.0.1", .port = std::to_string(server_.port())});
  }
  static std::string ask(connection& to, const std::string& question) {
    boost::asio::write(to, boost::asio::buffer(question + '\n'));
    std::string answer;
    const auto size = boost::asio::read_until(to, boost::asio::dynamic_buffer(answer), '\n');
    return answer.substr(0, size - 1);
  }

 private:
  boost::asio::io_context context_;
  servers::echo_server server_;
};

#ifdef LIDO_GATEWAY_REDIS
class redis_backend {
 public:
  using connection = lido::redis_connection;
  using factory_type = lido::redis_factory;

  [[nodiscard]] factory_type factory() const {
    return factory_type({.port = server_.port(), .password = servers::password});
  }
  static std::string ask(connection& to, const std::string& question) {
    return to.ask("ECHO " + question).text;
  }

 private:
  servers::redis server_;
};
#endif

#ifdef LIDO_GATEWAY_POSTGRES
class postgres_backend {
 public:
  using connection = lido::postgres_connection;
  using factory_type = lido::postgres_factory;

  [[nodiscard]] factory_type factory() const {
    return factory_type({.conninfo = server_.conninfo()});
  }
  static std::string ask(connection& to, const std::string& question) {
    const char* const value = question.c_str();
    PGresult* const result = PQexecParams(to.get(), "SELECT $1::text", 1, nullptr, &value, nullptr,
                                          nullptr, /*resultFormat=*/0);
    const bool is_good = PQresultStatus(result) == PGRES_TUPLES_OK;
    const std::string answer = is_good ? PQgetvalue(result, 0, 0) : PQerrorMessage(to.get());
    PQclear(result);
    if (!is_good) {
      throw std::runtime_error(answer);
    }
    return answer;
  }

 private:
  servers::postgres server_;
};
#endif

}  // namespace gateway
