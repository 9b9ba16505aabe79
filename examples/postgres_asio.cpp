// PostgreSQL from coroutines of Asio, without a thread that waits: libpq sends and reads, and Asio
// says when the socket is ready. Usage: postgres_asio CONNINFO
#include <utility>  // before Boost 1.74, which needs it

#include <libpq-fe.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <chrono>
#include <exception>
#include <iostream>
#include <lido/asio.hpp>
#include <lido/libpq.hpp>
#include <lido/resource_pool.hpp>
#include <memory>
#include <stdexcept>
#include <string>

namespace net = boost::asio;
using net::use_awaitable;
using descriptor = net::posix::stream_descriptor;
using namespace std::chrono_literals;
using postgres_pool = lido::resource_pool<lido::postgres_connection>;

// [snippet query]
/// Closes a descriptor after some time. Then all waits for it fail, later ones, too.
class time_limit {
 public:
  time_limit(const std::shared_ptr<descriptor>& socket, std::chrono::milliseconds time)
      : timer_(socket->get_executor(), time) {
    timer_.async_wait([socket](const boost::system::error_code& cancelled) {
      if (!cancelled) {
        socket->close();
      }
    });
  }

 private:
  net::steady_timer timer_;
};

/// Waits until the socket can be read or written. libpq may have to read before it can send more.
net::awaitable<void> is_ready(std::shared_ptr<descriptor> socket) {
  const auto either = std::make_shared<net::steady_timer>(socket->get_executor(),
                                                          net::steady_timer::time_point::max());
  const auto wake = [either](const boost::system::error_code& /*error*/) { either->cancel(); };
  socket->async_wait(descriptor::wait_read, wake);
  socket->async_wait(descriptor::wait_write, wake);
  boost::system::error_code woken;
  co_await either->async_wait(net::redirect_error(use_awaitable, woken));
  if (!socket->is_open()) {
    throw boost::system::system_error(net::error::timed_out);
  }
  socket->cancel();  // the other wait
}

/// Returns the last result of what was sent, which is no COPY.
net::awaitable<lido::postgres_result> result_of(PGconn* raw, std::chrono::milliseconds time) {
  // A descriptor of its own, for the same socket: libpq closes the other one.
  const auto socket =
      std::make_shared<descriptor>(co_await net::this_coro::executor, ::dup(PQsocket(raw)));
  const time_limit limit(socket, time);
  for (int unsent = PQflush(raw); unsent != 0; unsent = PQflush(raw)) {
    if (unsent == 1) {
      co_await is_ready(socket);
    }
    if (unsent < 0 || PQconsumeInput(raw) != 1) {
      throw std::runtime_error(PQerrorMessage(raw));
    }
  }
  lido::postgres_result last;
  for (;;) {
    while (PQisBusy(raw) != 0) {
      co_await socket->async_wait(descriptor::wait_read, use_awaitable);
      if (PQconsumeInput(raw) != 1) {
        throw std::runtime_error(PQerrorMessage(raw));
      }
    }
    lido::postgres_result next(PQgetResult(raw));
    if (next == nullptr) {
      co_return last;
    }
    last = std::move(next);
    const ExecStatusType status = PQresultStatus(last.get());
    if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
      throw std::invalid_argument("COPY needs functions of its own");
    }
  }
}

net::awaitable<std::string> query(postgres_pool& pool, std::string text,
                                  std::chrono::milliseconds time) {
  auto lease = co_await lido::async_acquire(pool, 1s, use_awaitable);
  // After an error, too, a thread of the pool looks at the connection, and ends what still runs. A
  // connection that is discarded would be ended here.
  lease.keep();
  PGconn* const raw = lease->get();
  if (PQsetnonblocking(raw, 1) != 0 || PQsendQuery(raw, text.c_str()) != 1) {
    throw std::runtime_error(PQerrorMessage(raw));
  }
  const auto result = co_await result_of(raw, time);
  lease->check(result.get());
  co_return PQresultStatus(result.get()) == PGRES_TUPLES_OK ? PQgetvalue(result.get(), 0, 0)
                                                            : PQresultErrorMessage(result.get());
}
// [/snippet]

net::awaitable<void> tell(postgres_pool& pool, std::string text, std::chrono::milliseconds time) {
  std::string told = "late";
  try {
    told = co_await query(pool, std::move(text), time);
  } catch (const boost::system::system_error&) {  // its time was up
  }
  std::cout << told << '\n';
}

void rethrow(const std::exception_ptr& problem) {
  if (problem) {
    std::rethrow_exception(problem);
  }
}

int main(int argc, char** argv) try {
  const lido::postgres_factory factory({.conninfo = argc == 2 ? argv[1] : ""});
  postgres_pool pool(factory, {.max_size = 3, .name = "postgres"});
  net::io_context loop;
  net::co_spawn(loop, tell(pool, "SELECT 'last' FROM pg_sleep(60)", 2s), rethrow);
  net::co_spawn(loop, tell(pool, "SELECT 'second' FROM pg_sleep(1)", 30s), rethrow);
  const std::string long_comment(4 << 20, '-');  // libpq sends it in parts
  net::co_spawn(loop, tell(pool, "SELECT 'first' " + long_comment, 30s), rethrow);
  loop.run();
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   first
//   second
//   late
