#include "lido/connect/postgres_factory.hpp"

#include <fcntl.h>
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

#include "lido/concurrency/parking.hpp"
#include "lido/connect/dial.hpp"

namespace lido::inline v0 {

namespace {

/// The settings of a conninfo, by keyword.
using settings = std::map<std::string, std::string>;
using options = std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)>;

constexpr const char* forget_session =
    "CLOSE ALL;SET SESSION AUTHORIZATION DEFAULT;RESET ALL;RESET ROLE;DEALLOCATE ALL;UNLISTEN *;"
    "SELECT pg_catalog.pg_advisory_unlock_all();DISCARD PLANS;DISCARD TEMP;DISCARD SEQUENCES";

/// Returns true if a message reports a permanent refusal: one whose SQLSTATE is of class 28
/// (invalid authorization) or 3D (invalid catalog name). Verbose messages of libpq contain the
/// SQLSTATE, as in "FATAL: 28P01: ". PgBouncer sends 08P01 and a text instead. A message may report
/// several tries, with and without encryption. Returns false if one of these tries may succeed.
bool is_refusal(const std::string& message) {
  static const std::regex refusal(":  ([0-9A-Z]{5}): ([^\n]*)");
  static const std::regex final(
      "(28|3D).*|08P01(password authentication failed|SASL authentication failed|no such "
      "(database|user)|unsupported startup parameter).*");
  std::sregex_iterator one(message.begin(), message.end(), refusal);
  const std::sregex_iterator end;
  return one != end && std::all_of(one, end, [](const std::smatch& said) {
           return std::regex_match(said.str(1) + said.str(2), final);
         });
}

/// Returns true if the character may be part of a number, a name, an address or a path.
bool is_of_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.:/").find(c) != std::string_view::npos;
}

/// Replaces each occurrence of `value` with "...", unless the occurrence begins or ends within a
/// word.
void hide(std::string& text, const std::string& value) {
  const auto splits = [&text](std::size_t at) {
    return at != 0 && at < text.size() && is_of_word(text[at - 1]) && is_of_word(text[at]);
  };
  for (std::size_t at = text.find(value); at != std::string::npos; at = text.find(value, at + 1)) {
    if (!splits(at) && !splits(at + value.size())) {
      text.replace(at, value.size(), "...");
      at += 2;
    }
  }
}

/// Returns a message of libpq or of the server as one line, for logs. "; " separates its parts.
std::string on_one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const std::size_t end = (std::min)(text.find('\n'), text.size());
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin < end) {
      line += (line.empty() ? "" : "; ") + std::string(text.substr(begin, end - begin));
    }
    text.remove_prefix((std::min)(end + 1, text.size()));
  }
  return line;
}

/// Returns the settings of a conninfo, with defaults from the environment. Only libpq knows the
/// settings of a service file.
settings read(const std::string& conninfo, const tcp_keep_alive& keep_alive) {
  settings all;
  const auto add = [&all](const options& more) {
    for (const auto* one = more.get(); one != nullptr && one->keyword != nullptr; ++one) {
      one->val != nullptr ? (void)all.emplace(one->keyword, one->val) : (void)0;
    }
  };
  const options own(PQconninfoParse(conninfo.c_str(), nullptr), &PQconninfoFree);
  if (own == nullptr) {  // libpq would quote what may be part of a password
    throw permanent_failure("postgres: the conninfo is malformed");
  }
  add(own);
  if (!all.contains("service")) {
    add(options(PQconndefaults(), &PQconninfoFree));
  }
  all.emplace("keepalives", keep_alive.on ? "1" : "0");
  all.emplace("keepalives_idle", std::to_string(detail::whole_seconds(keep_alive.idle)));
  all.emplace("keepalives_interval", std::to_string(detail::whole_seconds(keep_alive.interval)));
  all.emplace("keepalives_count", std::to_string(detail::keep_alive_count(keep_alive)));
  const auto number = [&all](const char* keyword) {
    return static_cast<int>(std::strtol(all[keyword].c_str(), nullptr, 10));
  };
  const tcp_keep_alive in_force{.on = number("keepalives") != 0,
                                .idle = std::chrono::seconds(number("keepalives_idle")),
                                .interval = std::chrono::seconds(number("keepalives_interval")),
                                .count = number("keepalives_count")};
  all.emplace("tcp_user_timeout", std::to_string(detail::give_up_after(in_force)));
  return all;
}

bool has_several_hosts(settings& all) {
  return all.contains("service") || (all["host"] + all["hostaddr"]).find(',') != std::string::npos;
}

/// Returns true if a retry would be in vain. For example, libpq notices only at this point that the
/// password is missing.
bool is_permanent(const std::string& failure, const PGconn* raw) {
  return is_refusal(failure) || PQconnectionNeedsPassword(raw) == 1;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    c == ',' ? (void)parts.emplace_back() : parts.back().push_back(c);
  }
  return parts;
}

bool is_port(const std::string& text) {
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  return text.empty() || (number >= 1 && number <= 65535 &&
                          std::string_view(end).find_first_not_of(' ') == std::string_view::npos);
}

std::string value_of(const settings& all, const char* keyword) {
  const auto one = all.find(keyword);
  return one != all.end() ? one->second : std::string();
}

/// Returns what is wrong with a host or a port, or an empty string. By itself, libpq would notice
/// the fault only when it connects, and would then quote text that may be the end of a password.
std::string fault_of(const settings& target) {
  const auto hosts = split(value_of(target, "host"));
  if (std::any_of(hosts.begin(), hosts.end(), [](const std::string& host) {
        return !host.starts_with('/') && host.find('@', 1) != std::string::npos;
      })) {
    return "postgres: conninfo: a host has an @ in it; in the password of a URL, write it as %40\n";
  }
  const auto ports = split(value_of(target, "port"));
  return std::all_of(ports.begin(), ports.end(), is_port)
             ? ""
             : "postgres: conninfo: the port is no number from 1 to 65535\n";
}

/// Returns the key of a target in an `address_memory`.
std::string name_of(const settings& target) {
  return value_of(target, "host") + ' ' + value_of(target, "hostaddr") + ' ' +
         value_of(target, "port");
}

/// Returns the value of connect_timeout, but at least two seconds. libpq obeys that setting only in
/// calls that block.
std::chrono::steady_clock::duration most_time(const settings& target) {
  const std::string text = value_of(target, "connect_timeout");
  const long seconds = std::strtol(text.c_str(), nullptr, 10);
  return seconds > 0 ? std::chrono::seconds(std::clamp(seconds, 2L, 1'000'000L))
                     : (std::chrono::steady_clock::duration::max)();
}

/// Returns a message of libpq or of the server, with "..." in place of each value of the conninfo
/// that may be secret. This is needed because libpq quotes wrong values in its messages, which are
/// in the language of the user, and some servers repeat them.
std::string without_values(std::string message, const settings& target) {
  const auto may_tell = [&target](const std::string& value) {
    constexpr std::array known{"host", "hostaddr", "port", "dbname", "user"};
    return std::any_of(known.begin(), known.end(), [&](const char* keyword) {
      return value_of(target, keyword) == value;  // also true of a password that is the user's name
    });
  };
  std::vector<std::string> values;
  for (const auto& [keyword, value] : target) {
    if (!value.empty() && !may_tell(value)) {
      values.push_back(value);
    }
  }
  std::sort(values.begin(), values.end(), [](const std::string& one, const std::string& other) {
    return one.size() > other.size();  // one value may be part of another
  });
  std::for_each(values.begin(), values.end(),
                [&message](const std::string& one) { hide(message, one); });
  return message;
}

bool prefers_standby(const settings& all) {
  return value_of(all, "target_session_attrs") == "prefer-standby";
}

/// Adds the addresses of one host.
void add_targets(const settings& all, const create_context& limit, std::vector<settings>& targets,
                 std::string& told) {
  const std::string host = value_of(all, "host");
  std::vector<detail::address> addresses;
  if (!value_of(all, "hostaddr").empty() || host.empty() || host.front() == '/' ||
      host.front() == '@' || !fault_of(all).empty()) {
    targets.push_back(all);
  } else if (const int failed = detail::look_up(host, {}, limit, addresses)) {
    told += "postgres: " + host + ": " + detail::text_of(failed) + '\n';
  }
  for (const detail::address& one : addresses) {
    targets.emplace_back(all)["hostaddr"] = one.digits();
  }
}

/// Returns one set of settings for each address, in the order in which to try them. By itself,
/// libpq would look up names without a time limit. It would also begin with the same address each
/// time, and spend all the time on an address that is silent.
std::vector<settings> targets_of(settings all, const create_context& limit,
                                 detail::address_memory& memory, std::string& told) {
  const auto hosts = split(all["host"]);
  const auto digits = split(all["hostaddr"]);
  const auto ports = split(all["port"]);
  const std::size_t count = (std::max)(hosts.size(), digits.size());
  const auto fits = [count](const std::vector<std::string>& one) {
    return one.size() == count || (one.size() == 1 && one[0].empty());
  };
  if (!fits(hosts) || !fits(digits) || (ports.size() != 1 && ports.size() != count)) {
    return {all};  // libpq reports the mistake
  }
  std::vector<settings> targets;
  for (std::size_t i = 0; i < count; ++i) {
    all["host"] = hosts[(std::min)(i, hosts.size() - 1)];  // a single value applies to all hosts
    all["hostaddr"] = digits[(std::min)(i, digits.size() - 1)];
    all["port"] = ports[(std::min)(i, ports.size() - 1)];
    add_targets(all, limit, targets, told);
  }
  memory.put_avoided_last(targets, &name_of);
  if (!prefers_standby(all)) {
    return targets;
  }
  std::vector<settings> standbys;  // tried first; excludes targets that were silent
  for (settings& target : targets) {
    if (!memory.avoids(name_of(target))) {
      standbys.emplace_back(target)["target_session_attrs"] = "standby";
    }
    target["target_session_attrs"] = "any";
  }
  targets.insert(targets.begin(), standbys.begin(), standbys.end());
  return targets;
}

PGconn* start(const settings& all) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : all) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  PGconn* const made = PQconnectStartParams(keywords.data(), values.data(), /*expand_dbname=*/0);
  return made != nullptr ? made : throw std::bad_alloc();
}

/// Completes a connect. Returns an empty string, or the reason why it failed.
std::string connect(PGconn* raw, const create_context& limit) {
  (void)PQsetErrorVerbosity(raw, PQERRORS_VERBOSE);
  PostgresPollingStatusType status =
      PQstatus(raw) != CONNECTION_BAD ? PGRES_POLLING_WRITING : PGRES_POLLING_FAILED;
  while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
    const short events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (const int failed = detail::wait_for(PQsocket(raw), events, limit)) {
      return "postgres: no connection: " + detail::text_of(failed) + '\n';
    }
    status = PQconnectPoll(raw);
  }
  (void)PQsetErrorVerbosity(raw, PQERRORS_DEFAULT);
  return status == PGRES_POLLING_OK ? "" : PQerrorMessage(raw);
}

/// Waits until a result can be fetched. Returns zero, or an errno.
int wait_for_result(PGconn* raw, const create_context& limit) {
  while (PQisBusy(raw) != 0) {
    const short events = PQflush(raw) == 1 ? POLLIN | POLLOUT : POLLIN;
    if (const int failed = detail::wait_for(PQsocket(raw), events, limit)) {
      return failed;
    }
    if (PQconsumeInput(raw) != 1) {
      return ECONNRESET;
    }
  }
  return 0;
}

/// Fetches all results of the commands that were sent. Returns zero and sets `last` to the last
/// result, or returns an errno.
int collect(PGconn* raw, const create_context& limit, postgres_result& last) {
  for (;;) {
    if (const int failed = wait_for_result(raw, limit)) {
      return failed;
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

/// Runs commands. Returns an empty string if they succeed in time, or the reason why they did not.
std::string run(PGconn* raw, const std::string& commands, const create_context& limit) {
  if (PQsendQuery(raw, commands.c_str()) != 1) {
    return on_one_line(PQerrorMessage(raw));
  }
  postgres_result last;
  if (const int failed = collect(raw, limit, last)) {
    return detail::text_of(failed);
  }
  return PQresultStatus(last.get()) <= PGRES_TUPLES_OK
             ? ""
             : on_one_line(PQresultErrorMessage(last.get()));
}

/// Cancels the query. Returns true if the server has been notified. To notify the server, libpq
/// opens a connection, for which it has no time limit.
bool cancel(PGconn* raw, const create_context& limit) {
  const std::shared_ptr<PGcancel> request(PQgetCancel(raw), &PQfreeCancel);
  const auto sent = std::make_shared<bool>(false);
  const auto ask = [request, sent] {
    std::array<char, 256> error{};
    *sent = PQcancel(request.get(), error.data(), static_cast<int>(error.size())) == 1;
  };
  return request != nullptr && detail::run_aside(detail::aside::cancel, ask, limit) && *sent;
}

/// Repeatedly cancels the query and waits for its end, since the server ignores a cancel that
/// arrives before the query has begun.
int end_query(PGconn* raw, const create_context& limit, postgres_result& last) {
  constexpr std::chrono::milliseconds until_again(50);
  int failed = ETIMEDOUT;
  while (failed == ETIMEDOUT && cancel(raw, limit)) {
    const auto soon = std::chrono::steady_clock::now() + until_again;
    failed = collect(raw, {(std::min)(soon, limit.deadline), {}}, last);
  }
  return failed;
}

/// Cancels repeatedly until the server closes the connection, which it does once it has nothing
/// more to do. The sending side is shut down first. Otherwise, libpq would send what the user left
/// unsent before it reads or closes, and the server would begin those commands.
void end_pipeline(PGconn* raw, const create_context& limit) {
  constexpr std::chrono::milliseconds until_again(20);
  (void)::shutdown(PQsocket(raw), SHUT_WR);
  int failed = ETIMEDOUT;
  while (failed == ETIMEDOUT && cancel(raw, limit)) {
    const auto soon = std::chrono::steady_clock::now() + until_again;
    failed = detail::wait_for(PQsocket(raw), POLLRDHUP, {(std::min)(soon, limit.deadline), {}});
  }
}

/// Returns true if the connection is between commands, and nothing is left unread. The check does
/// not see what an encrypted connection has read ahead.
bool is_idle(PGconn* raw) {
  return PQstatus(raw) == CONNECTION_OK && PQpipelineStatus(raw) == PQ_PIPELINE_OFF &&
         PQtransactionStatus(raw) == PQTRANS_IDLE && detail::is_quiet(PQsocket(raw));
}

}  // namespace

void postgres_result_deleter::operator()(pg_result* result) const noexcept {
  PQclear(result);
}

postgres_connection::postgres_connection(pg_conn* connection) noexcept
    : connection_(connection),
      receiver_(PQsetNoticeReceiver(connection, nullptr, nullptr)),
      processor_(PQsetNoticeProcessor(connection, nullptr, nullptr)),
      marks_(marks()) {}

void postgres_connection::closer::operator()(pg_conn* connection) const noexcept {
  PQfinish(connection);
}

postgres_connection::twin::~twin() {
  if (socket_ != detail::no_socket) {
    detail::close_socket(socket_);
  }
}

/// Returns what the server reported about its role, and the size of the event procedures. No
/// function lists event procedures, but each result contains copies of them.
std::string postgres_connection::marks() const {
  const postgres_result copy(PQmakeEmptyPGresult(get(), PGRES_COMMAND_OK));
  std::string all = std::to_string(PQresultMemorySize(copy.get()));
  for (const char* const name : {"default_transaction_read_only", "in_hot_standby"}) {
    const char* const value = PQparameterStatus(get(), name);
    all += value != nullptr ? value : "";
  }
  return all;
}

postgres_result postgres_connection::finish(const create_context& limit) {
  postgres_result last;
  int failed = collect(get(), limit, last);
  if (failed == ETIMEDOUT || failed == ECANCELED) {
    failed = end_query(get(), {detail::deadline::after(patience_).moment(), {}}, last);
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

/// Calls the user's `on_connect`, and records the state of the session before any use.
void postgres_factory::begin_session(postgres_connection& made,
                                     const create_context& context) const {
  made.patience_ = target_.reset_timeout;
  if (target_.on_connect) {
    target_.on_connect(made, context);
  }
  made.marks_ = made.marks();
}

// NOLINTNEXTLINE(readability-function-cognitive-complexity): the steps of a connect
postgres_connection postgres_factory::create(const create_context& context) const {
  settings all = read(target_.conninfo, target_.keep_alive);
  const bool has_others = has_several_hosts(all);
  std::string told;
  const auto targets = targets_of(all, context, *memory_, told);
  auto left = std::ssize(targets);
  for (const settings& target : targets) {
    const auto now = std::chrono::steady_clock::now();
    const auto until = now + (std::min)((context.deadline - now) / left--, most_time(target));
    const std::string fault = fault_of(target);
    const bool begins = fault.empty();
    postgres_connection made(begins ? start(target) : nullptr);
    const std::string failure = begins ? connect(made.get(), {until, context.stop}) : fault;
    // A primary is not at fault for not being a standby.
    const bool is_late = std::chrono::steady_clock::now() >= until;
    const bool is_known = failure.empty() || is_late || !prefers_standby(all);
    if (begins && is_known && targets.size() > 1 && !context.stop.stop_requested()) {
      memory_->note(name_of(target), !failure.empty());
    }
    if (failure.empty()) {
      // If no file descriptor is free, uses of the connection cannot be interrupted.
      made.twin_ = postgres_connection::twin(
          ::fcntl(PQsocket(made.get()), F_DUPFD_CLOEXEC, 3));  // NOLINT(*-vararg): a system call
      begin_session(made, context);
      return made;
    }
    told += begins ? without_values(failure, target) : fault;
    if (!has_others && (!begins || is_permanent(failure, made.get()))) {
      throw permanent_failure(on_one_line(told));
    }
  }
  throw std::runtime_error(on_one_line(told));
}

bool postgres_factory::validate(postgres_connection& idle, const create_context& context) const {
  const bool is_in_order = is_idle(idle.get());
  const bool asks = is_in_order && target_.query_to_validate;
  if (const std::string why = asks ? run(idle.get(), "", context) : ""; !why.empty()) {
    throw std::runtime_error("postgres: no answer to the validation: " + why);
  }
  return is_in_order;
}

bool postgres_factory::reset(postgres_connection& used) const {
  PGconn* const raw = used.get();
  const PGTransactionStatusType state = PQtransactionStatus(raw);
  const bool is_open = state == PQTRANS_INTRANS || state == PQTRANS_INERROR;
  PQuntrace(raw);  // the trace file belongs to the user
  if (used.unfit_ || PQpipelineStatus(raw) != PQ_PIPELINE_OFF || !(is_open || is_idle(raw))) {
    return false;
  }
  const create_context limit{detail::deadline::after(target_.reset_timeout).moment(), {}};
  std::string commands = is_open ? "ROLLBACK;" : "";
  commands += target_.pooling == postgres_pooling::session ? forget_session : "";
  if (PQsetnonblocking(raw, 0) != 0) {
    return false;
  }
  if (const std::string why = commands.empty() ? "" : run(raw, commands, limit); !why.empty()) {
    throw std::runtime_error("postgres: the reset failed: " + why);
  }
  (void)PQsetErrorVerbosity(raw, PQERRORS_DEFAULT);
  (void)PQsetErrorContextVisibility(raw, PQSHOW_CONTEXT_ERRORS);
  (void)PQsetNoticeReceiver(raw, used.receiver_, nullptr);
  (void)PQsetNoticeProcessor(raw, used.processor_, nullptr);
  while (PGnotify* const heard = PQnotifies(raw)) {  // notifications from before the reset
    PQfreemem(heard);
  }
  if (target_.on_connect) {
    target_.on_connect(used, limit);
  }
  return !used.unfit_ && is_idle(raw) && used.marks() == used.marks_;
}

void postgres_factory::interrupt(postgres_connection& used) noexcept {
  detail::shut_down(used.twin_.get());
}

void postgres_factory::destroy(postgres_connection& ended, destroy_reason /*reason*/) noexcept {
  using std::chrono::milliseconds;
  PGconn* const raw = ended.get();
  try {
    const bool is_pipeline = PQpipelineStatus(raw) != PQ_PIPELINE_OFF;
    const create_context limit{
        detail::deadline::after(milliseconds(is_pipeline ? 100 : 1000)).moment(), {}};
    if (is_pipeline) {
      end_pipeline(raw, limit);
    } else if (PQtransactionStatus(raw) == PQTRANS_ACTIVE) {
      postgres_result last;
      (void)end_query(raw, limit, last);
    }
  } catch (...) {  // no memory, or no thread: the connection is closed nevertheless
  }
}

}  // namespace lido::inline v0
