#include "lido/connect/postgres_factory.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lido/connect/quiet_socket.hpp"
#include "lido/resource/limits.hpp"

namespace lido {

namespace {

using detail::wait_result;

/// The next SQLSTATE from `at` on, which moves behind it; empty if there is none. libpq gives that
/// of a failed connect only inside of its message, if that is verbose: "FATAL:  28P01: ".
std::string_view next_state(std::string_view message, std::size_t& at) {
  constexpr std::string_view before(":  ");
  constexpr std::size_t length = 5;
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  for (at = message.find(before, at); at != std::string_view::npos; at = message.find(before, at)) {
    at += before.size();
    const std::string_view state = message.substr(at, length);
    if (message.substr(at + state.size()).starts_with(": ") &&
        std::all_of(state.begin(), state.end(), is_digit)) {
      return state;
    }
  }
  return {};
}

/// PgBouncer, but for its latest versions, says 08P01, protocol violation, whatever it or the
/// server behind it refuses: then the words tell.
bool is_refusal_of_pgbouncer(std::string_view words) {
  constexpr std::array<std::string_view, 4> all{"password authentication failed",
                                                "SASL authentication failed", "no such database",
                                                "no such user"};
  return std::any_of(all.begin(), all.end(),
                     [words](std::string_view one) { return words.starts_with(one); });
}

/// Refused for good: class 28, invalid authorization, or 3D, invalid catalog name. libpq may have
/// tried more than once, with and without encryption: then what refused each of them counts, since
/// one that may pass is worth another try.
bool is_permanent(std::string_view message) {
  std::size_t at = 0;
  bool permanent = false;
  bool passes = false;
  for (std::string_view state = next_state(message, at); !state.empty();
       state = next_state(message, at)) {
    permanent =
        state.starts_with("28") || state.starts_with("3D") ||
        (state == "08P01" && is_refusal_of_pgbouncer(message.substr(at + state.size() + 2)));
    passes |= !permanent;
  }
  return permanent && !passes;
}

/// As libpq has it, from wherever; empty if nothing says so.
std::string option_of(PGconn* connection, std::string_view name) {
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> options(
      PQconninfo(connection), &PQconninfoFree);
  for (const PQconninfoOption* one = options.get(); one != nullptr && one->keyword != nullptr;
       ++one) {
    if (name == one->keyword && one->val != nullptr) {
      return one->val;
    }
  }
  return {};
}

/// Of which one that gave no reason may be back soon. That it gave none libpq tells by words alone,
/// in the language of the user, and the server its own.
bool has_several_hosts(PGconn* connection) {
  return (option_of(connection, "host") + option_of(connection, "hostaddr")).find(',') !=
         std::string::npos;
}

/// Of all hosts, which libpq finds out only when it tries one.
bool has_no_such_port(PGconn* connection) {
  const std::string port = option_of(connection, "port");
  const long number = std::strtol(port.c_str(), nullptr, 10);
  return !port.empty() && port.find(',') == std::string::npos && (number < 1 || number > 65535);
}

[[noreturn]] void throw_failure(PGconn* connection) {
  const std::string text = PQerrorMessage(connection);
  const bool is_final = is_permanent(text) || PQconnectionNeedsPassword(connection) == 1;
  if (is_final && !has_several_hosts(connection)) {
    throw permanent_failure(text);
  }
  throw std::runtime_error(text);
}

void connect(PGconn* connection, const create_context& context) {
  PostgresPollingStatusType status = PGRES_POLLING_WRITING;
  while (status != PGRES_POLLING_OK) {
    if (status == PGRES_POLLING_FAILED) {
      throw_failure(connection);
    }
    const short events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    switch (detail::wait_for(PQsocket(connection), events, context)) {
      case wait_result::late:
        throw std::runtime_error("postgres: no connection in time");
      case wait_result::stopped:
        throw std::runtime_error("postgres: asked to stop");
      case wait_result::ready:
        status = PQconnectPoll(connection);
    }
  }
}

/// What libpq cannot read today it cannot read tomorrow.
bool is_readable(const std::string& conninfo) {
  PQconninfoOption* const options = PQconninfoParse(conninfo.c_str(), nullptr);
  const bool read = options != nullptr;
  PQconninfoFree(options);
  return read;
}

/// The next result, or null at the end of a command; `in_time` says which if it is null.
PGresult* next_result(PGconn* connection, const create_context& context, bool& in_time) {
  while (PQisBusy(connection) != 0) {
    in_time = detail::wait_for(PQsocket(connection), POLLIN, context) == wait_result::ready &&
              PQconsumeInput(connection) == 1;
    if (!in_time) {
      return nullptr;
    }
  }
  return PQgetResult(connection);
}

/// Whether the command ended well, and as `expected`, in time.
bool run(PGconn* connection, const char* command, ExecStatusType expected,
         const create_context& context) {
  if (PQsendQuery(connection, command) != 1) {
    return false;
  }
  bool in_time = true;
  bool is_good = true;
  while (PGresult* const result = next_result(connection, context, in_time)) {
    is_good = is_good && PQresultStatus(result) == expected;
    PQclear(result);
  }
  return is_good && in_time;
}

/// Between commands, with nothing unread. Encrypted connections may have read ahead.
bool is_idle(PGconn* connection) {
  return PQstatus(connection) == CONNECTION_OK && PQpipelineStatus(connection) == PQ_PIPELINE_OFF &&
         PQtransactionStatus(connection) == PQTRANS_IDLE && detail::is_quiet(PQsocket(connection));
}

}  // namespace

void postgres_connection::closer::operator()(pg_conn* connection) const noexcept {
  PQfinish(connection);
}

postgres_connection postgres_factory::create(const create_context& context) const {
  postgres_connection made(PQconnectStart(target_.conninfo.c_str()));
  PGconn* const raw = made.get();
  if (raw == nullptr) {
    throw std::bad_alloc();
  }
  if (PQstatus(raw) == CONNECTION_BAD &&
      (!is_readable(target_.conninfo) || has_no_such_port(raw))) {
    throw permanent_failure(PQerrorMessage(raw));
  }
  if (PQstatus(raw) == CONNECTION_BAD) {
    throw_failure(raw);
  }
  (void)PQsetErrorVerbosity(raw, PQERRORS_VERBOSE);
  connect(raw, context);
  (void)PQsetErrorVerbosity(raw, PQERRORS_DEFAULT);
  return made;
}

bool postgres_factory::validate(postgres_connection& idle, const create_context& context) noexcept {
  return is_idle(idle.get()) && run(idle.get(), "", PGRES_EMPTY_QUERY, context);
}

bool postgres_factory::reset(postgres_connection& used) const noexcept {
  PGconn* const raw = used.get();
  PQuntrace(raw);  // into a file of who had it
  const create_context limit{detail::clock_after(target_.reset_timeout), {}};
  const PGTransactionStatusType state = PQtransactionStatus(raw);
  if ((state == PQTRANS_INTRANS || state == PQTRANS_INERROR) &&
      PQpipelineStatus(raw) == PQ_PIPELINE_OFF && !run(raw, "ROLLBACK", PGRES_COMMAND_OK, limit)) {
    return false;
  }
  if (!is_idle(raw) || PQsetnonblocking(raw, 0) != 0) {
    return false;
  }
  (void)PQsetErrorVerbosity(raw, PQERRORS_DEFAULT);
  (void)PQsetErrorContextVisibility(raw, PQSHOW_CONTEXT_ERRORS);
  const bool is_new = target_.on_reset == postgres_reset::rollback ||
                      run(raw, "DISCARD ALL", PGRES_COMMAND_OK, limit);
  while (PGnotify* const heard = PQnotifies(raw)) {  // before that
    PQfreemem(heard);
  }
  return is_new;
}

}  // namespace lido
