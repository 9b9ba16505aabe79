/// @file
/// The servers behind the gateway: how a pool of Lido connects to them, how a program without Lido
/// does, and how to send requests.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "lido/tcp.hpp"
#include "line.hpp"
#include "servers/echo_server.hpp"
#if defined(LIDO_GATEWAY_REDIS) || defined(LIDO_GATEWAY_POSTGRES)
#include "servers/known_servers.hpp"
#endif
#ifdef LIDO_GATEWAY_REDIS
#include <hiredis/hiredis.h>

#include "lido/hiredis.hpp"
#endif
#ifdef LIDO_GATEWAY_POSTGRES
#include <libpq-fe.h>

#include "lido/libpq.hpp"
#endif

namespace gateway {

/// A server of the demo's own, in this process.
class echo_backend {
 public:
  using connection = lido::tcp_factory::socket;
  using factory_type = lido::tcp_factory;

  [[nodiscard]] factory_type factory() {
    return factory_type(context_.get_executor(),
                        {.host = "127.0.0.1", .port = std::to_string(server_.port())});
  }
  [[nodiscard]] connection connect() {
    connection made(context_);
    made.connect(
        {boost::asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(server_.port())});
    made.set_option(boost::asio::ip::tcp::no_delay(true));
    return made;
  }
  static std::string ask(connection& to, const std::string& question) {
    boost::asio::write(to, boost::asio::buffer(question + '\n'));
    std::string answer;
    const auto size =
        boost::asio::read_until(to, boost::asio::dynamic_buffer(answer, longest_line), '\n');
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
  [[nodiscard]] connection connect() const {
    redisContext* const made =
        redisConnectWithTimeout("127.0.0.1", server_.port(), {.tv_sec = 30, .tv_usec = 0});
    connection owner(made);
    if (made == nullptr || made->err != 0) {
      throw std::runtime_error(made == nullptr ? "redis: no memory" : &made->errstr[0]);
    }
    std::array<const char*, 2> words{"AUTH", servers::password};
    auto* const reply = static_cast<redisReply*>(
        redisCommandArgv(made, static_cast<int>(words.size()), words.data(), nullptr));
    const bool is_in = reply != nullptr && reply->type != REDIS_REPLY_ERROR;
    freeReplyObject(reply);
    if (!is_in) {
      throw std::runtime_error("redis: not signed in");
    }
    return owner;
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
  [[nodiscard]] connection connect() const {
    connection made(PQconnectdb(server_.conninfo().c_str()));
    if (PQstatus(made.get()) != CONNECTION_OK) {
      throw std::runtime_error(PQerrorMessage(made.get()));
    }
    return made;
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
