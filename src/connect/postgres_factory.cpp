#include "lido/connect/postgres_factory.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <new>
#include <regex>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "lido/connect/dial.hpp"
#include "lido/resource/limits.hpp"

namespace lido {

namespace {

/// Of a conninfo, by keyword.
using settings = std::map<std::string, std::string>;
using options = std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)>;

constexpr const char* forget_session =
    "CLOSE ALL;SET SESSION AUTHORIZATION DEFAULT;RESET ALL;RESET ROLE;DEALLOCATE ALL;UNLISTEN *;"
    "SELECT pg_catalog.pg_advisory_unlock_all();DISCARD PLANS;DISCARD TEMP;DISCARD SEQUENCES";

/// Refused for good: class 28, invalid authorization, or 3D, invalid catalog name, which verbose
/// messages of libpq give: "FATAL:  28P01: ". PgBouncer says 08P01 and words. Of several tries,
/// with and without encryption, one that may pass is worth another.
bool is_permanent(const std::string& message) {
  static const std::regex refusal(":  ([0-9A-Z]{5}): ([^\n]*)");
  static const std::regex final(
      "(28|3D).*|08P01(password authentication failed|SASL authentication failed|no such "
      "(database|user)).*");
  std::sregex_iterator one(message.begin(), message.end(), refusal);
  const std::sregex_iterator end;
  return one != end && std::all_of(one, end, [](const std::smatch& said) {
           return std::regex_match(said.str(1) + said.str(2), final);
         });
}

void add(settings& all, const options& more) {
  for (const auto* one = more.get(); one != nullptr && one->keyword != nullptr; ++one) {
    if (one->val != nullptr) {
      all.emplace(one->keyword, one->val);
    }
  }
}

/// What is said nowhere comes from the environment, but what a service file says only libpq knows.
settings read(const std::string& conninfo) {
  char* error = nullptr;
  const options own(PQconninfoParse(conninfo.c_str(), &error), &PQconninfoFree);
  const std::unique_ptr<char, void (*)(void*)> text(error, &PQfreemem);
  if (own == nullptr) {
    throw permanent_failure(error != nullptr ? error : "postgres: no memory");
  }
  settings all;
  add(all, own);
  if (!all.contains("service")) {
    add(all, options(PQconndefaults(), &PQconninfoFree));
  }
  return all;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    c == ',' ? (void)parts.emplace_back() : parts.back().push_back(c);
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts) {
  std::string list = parts.front();
  std::for_each(parts.begin() + 1, parts.end(), [&list](const auto& one) { list += ',' + one; });
  return list;
}

/// Gives libpq the addresses of names, which it would look up without regard to time, and of which
/// it would begin with the same one each time.
void look_up(settings& all, const create_context& limit) {
  const auto hosts = split(all["host"]);
  const auto ports = split(all["port"]);
  if (!all["hostaddr"].empty() || (ports.size() != 1 && ports.size() != hosts.size())) {
    return;  // there is nothing to look up, or libpq tells the mistake
  }
  std::array<std::vector<std::string>, 3> found;
  std::string failure;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    std::vector<detail::address> addresses(1);
    const bool is_path = hosts[i].empty() || hosts[i].front() == '/' || hosts[i].front() == '@';
    if (const int failed = is_path ? 0 : detail::look_up(hosts[i], {}, limit, addresses)) {
      failure = "postgres: " + hosts[i] + ": " + detail::text_of(failed);
    }
    for (std::size_t j = is_path ? 0 : 1; j < addresses.size(); ++j) {
      found[0].push_back(hosts[i]);
      found[1].push_back(is_path ? "" : addresses[j].digits());
      found[2].push_back(ports.size() == 1 ? ports[0] : ports[i]);
    }
  }
  if (found[0].empty()) {
    throw std::runtime_error(failure);
  }
  all["host"] = join(found[0]);
  all["hostaddr"] = join(found[1]);
  if (all.contains("port")) {
    all["port"] = join(found[2]);
  }
}

PGconn* start(const settings& all) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : all) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  return PQconnectStartParams(keywords.data(), values.data(), /*expand_dbname=*/0);
}

/// A silent address has its share of the time, then libpq is told that there is no way to it.
void connect(PGconn* raw, const create_context& limit, std::ptrdiff_t hosts) {
  std::string where;
  create_context share = limit;
  PostgresPollingStatusType status = PGRES_POLLING_WRITING;
  while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
    if (const std::string now = std::string(PQhostaddr(raw)) + PQport(raw); now != where) {
      where = now;
      const auto left = std::max<std::ptrdiff_t>(hosts--, 1);
      const auto time = std::chrono::steady_clock::now();
      share.deadline = time + (limit.deadline - time) / left;
    }
    const bool is_first = PQstatus(raw) == CONNECTION_STARTED;
    const short events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    const int failed = detail::wait_for(PQsocket(raw), events, is_first ? share : limit);
    if (failed == ETIMEDOUT && share.deadline < limit.deadline && is_first) {
      (void)::shutdown(PQsocket(raw), SHUT_RDWR);
    } else if (failed != 0) {
      throw std::runtime_error("postgres: no connection: " + detail::text_of(failed));
    }
    status = PQconnectPoll(raw);
  }
}

/// Zero and the last result at the end of what was sent, or an errno.
int collect(PGconn* raw, const create_context& limit, postgres_result& last) {
  for (;;) {
    while (PQisBusy(raw) != 0) {
      const short events = PQflush(raw) == 1 ? POLLIN | POLLOUT : POLLIN;
      if (const int failed = detail::wait_for(PQsocket(raw), events, limit)) {
        return failed;
      }
      if (PQconsumeInput(raw) != 1) {
        return ECONNRESET;
      }
    }
    postgres_result next(PQgetResult(raw));
    if (next == nullptr) {
      return 0;
    }
    last = std::move(next);
    const ExecStatusType status = PQresultStatus(last.get());
    if (status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH) {
      return 0;
    }
  }
}

/// Whether the commands ended well in time.
bool run(PGconn* raw, const std::string& commands, const create_context& limit) {
  postgres_result last;
  return PQsendQuery(raw, commands.c_str()) == 1 && collect(raw, limit, last) == 0 &&
         PQresultStatus(last.get()) <= PGRES_TUPLES_OK;
}

/// Whether the server has acted on it. libpq connects for that, without regard to time.
bool cancel(PGconn* raw, const create_context& limit) {
  const std::shared_ptr<PGcancel> request(PQgetCancel(raw), &PQfreeCancel);
  const auto sent = std::make_shared<bool>(false);
  const auto ask = [request, sent] {
    std::array<char, 256> error{};
    *sent = PQcancel(request.get(), error.data(), static_cast<int>(error.size())) == 1;
  };
  return request != nullptr && detail::run_aside(detail::aside::cancel, ask, limit) && *sent;
}

/// Between commands, with nothing unread. Encrypted connections may have read ahead.
bool is_idle(PGconn* raw) {
  return PQstatus(raw) == CONNECTION_OK && PQpipelineStatus(raw) == PQ_PIPELINE_OFF &&
         PQtransactionStatus(raw) == PQTRANS_IDLE && detail::is_quiet(PQsocket(raw));
}

/// Of the server, as it reported it by itself.
std::string role_of(PGconn* raw) {
  std::string role;
  for (const char* const name : {"default_transaction_read_only", "in_hot_standby"}) {
    const char* const value = PQparameterStatus(raw, name);
    role += value != nullptr ? value : "";
  }
  return role;
}

/// No function tells of the procedures of events, but each result has copies of them.
std::size_t event_bytes_of(PGconn* raw) {
  return PQresultMemorySize(postgres_result(PQmakeEmptyPGresult(raw, PGRES_COMMAND_OK)).get());
}

}  // namespace

void postgres_result_deleter::operator()(pg_result* result) const noexcept {
  PQclear(result);
}

void postgres_connection::closer::operator()(pg_conn* connection) const noexcept {
  PQfinish(connection);
}

postgres_result postgres_connection::finish(const create_context& limit) {
  postgres_result last;
  int failed = collect(get(), limit, last);
  if (failed == ETIMEDOUT || failed == ECANCELED) {
    const create_context patience{detail::clock_after(patience_), {}};
    failed = cancel(get(), patience) ? collect(get(), patience, last) : failed;
  }
  if (failed != 0) {
    unfit_ = true;
    throw std::runtime_error("postgres: no end of the query: " + detail::text_of(failed));
  }
  check(last.get());
  return last;
}

void postgres_connection::check(const pg_result* result) noexcept {
  const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string_view state(field != nullptr ? field : "");
  unfit_ = unfit_ || state == "25006" || state.starts_with("57P") || state.starts_with("08");
}

postgres_connection postgres_factory::create(const create_context& context) const {
  settings all = read(target_.conninfo);
  const bool has_others =
      all.contains("service") || (all["host"] + all["hostaddr"]).find(',') != std::string::npos;
  look_up(all, context);
  all.emplace("keepalives", target_.keep_alive.on ? "1" : "0");
  all.emplace("keepalives_idle", std::to_string(detail::whole_seconds(target_.keep_alive.idle)));
  all.emplace("keepalives_interval",
              std::to_string(detail::whole_seconds(target_.keep_alive.interval)));
  all.emplace("keepalives_count", std::to_string(target_.keep_alive.count));
  postgres_connection made(start(all));
  PGconn* const raw = made.get();
  if (raw == nullptr) {
    throw std::bad_alloc();
  }
  bool is_final = false;
  if (PQstatus(raw) == CONNECTION_BAD) {
    const long port = std::strtol(all["port"].c_str(), nullptr, 10);
    is_final = all.contains("port") && !has_others && (port < 1 || port > 65535);
  } else {
    (void)PQsetErrorVerbosity(raw, PQERRORS_VERBOSE);
    connect(raw, context, std::ssize(split(all["hostaddr"])));
    (void)PQsetErrorVerbosity(raw, PQERRORS_DEFAULT);
  }
  if (PQstatus(raw) != CONNECTION_OK) {
    const std::string text = PQerrorMessage(raw);
    is_final =
        is_final || (!has_others && (is_permanent(text) || PQconnectionNeedsPassword(raw) == 1));
    is_final ? throw permanent_failure(text) : throw std::runtime_error(text);
  }
  made.patience_ = target_.reset_timeout;
  made.receiver_ = PQsetNoticeReceiver(raw, nullptr, nullptr);
  made.processor_ = PQsetNoticeProcessor(raw, nullptr, nullptr);
  if (target_.on_connect) {
    target_.on_connect(made, context);
  }
  made.role_ = role_of(raw);
  made.event_bytes_ = event_bytes_of(raw);
  return made;
}

bool postgres_factory::validate(postgres_connection& idle,
                                const create_context& context) const noexcept {
  return is_idle(idle.get()) && (!target_.query_to_validate || run(idle.get(), "", context));
}

bool postgres_factory::reset(postgres_connection& used) const noexcept {
  PGconn* const raw = used.get();
  const PGTransactionStatusType state = PQtransactionStatus(raw);
  const bool is_open = state == PQTRANS_INTRANS || state == PQTRANS_INERROR;
  PQuntrace(raw);  // into a file of the user
  if (used.unfit_ || PQpipelineStatus(raw) != PQ_PIPELINE_OFF || !(is_open || is_idle(raw))) {
    return false;
  }
  try {
    const create_context limit{detail::clock_after(target_.reset_timeout), {}};
    std::string commands = is_open ? "ROLLBACK;" : "";
    commands += target_.pooling == postgres_pooling::session ? forget_session : "";
    if (PQsetnonblocking(raw, 0) != 0 || (!commands.empty() && !run(raw, commands, limit))) {
      return false;
    }
    (void)PQsetErrorVerbosity(raw, PQERRORS_DEFAULT);
    (void)PQsetErrorContextVisibility(raw, PQSHOW_CONTEXT_ERRORS);
    (void)PQsetNoticeReceiver(raw, used.receiver_, nullptr);
    (void)PQsetNoticeProcessor(raw, used.processor_, nullptr);
    while (PGnotify* const heard = PQnotifies(raw)) {  // before that
      PQfreemem(heard);
    }
    if (target_.on_connect) {
      target_.on_connect(used, limit);
    }
    return !used.unfit_ && is_idle(raw) && role_of(raw) == used.role_ &&
           event_bytes_of(raw) == used.event_bytes_;
  } catch (...) {
    return false;
  }
}

void postgres_factory::destroy(postgres_connection& ended, destroy_reason /*reason*/) noexcept {
  try {
    if (PQtransactionStatus(ended.get()) == PQTRANS_ACTIVE) {
      (void)cancel(ended.get(), {detail::clock_after(std::chrono::seconds(1)), {}});
    }
  } catch (...) {  // no memory, or no thread: it is closed nevertheless
  }
}

}  // namespace lido
