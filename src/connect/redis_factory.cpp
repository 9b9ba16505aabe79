#include "lido/connect/redis_factory.hpp"

#include <hiredis/alloc.h>
#include <hiredis/hiredis.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <stdexcept>

#include "lido/concurrency/parking.hpp"

namespace lido::inline v0 {

namespace {

using words = std::vector<std::string_view>;

[[noreturn]] void fail(const redisContext* context, const std::string& text,
                       bool for_ever = false) {
  const auto& tcp = context->tcp;
  const char* const path = context->unix_sock.path;
  const std::string host = tcp.host != nullptr ? tcp.host : "";
  const std::string who = path != nullptr ? path : host + ':' + std::to_string(tcp.port);
  const std::string what = "redis " + who + ": " + text;
  for_ever ? throw permanent_failure(what) : throw std::runtime_error(what);
}

void check_status(const redisContext* context, int result) {
  if (result != REDIS_OK) {
    fail(context, &context->errstr[0]);
  }
}

/// Returns a word in capital letters. Does not use toupper, whose result for the letter i depends
/// on the language.
std::string capitals_of(std::string_view word) {
  std::string capitals;
  std::transform(word.begin(), word.end(), std::back_inserter(capitals), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return capitals;
}

/// Returns true if the list contains the word, which may be in lower case. The words of the list
/// are in capital letters, with a blank before and after each word.
bool is_among(std::string_view list, std::string_view word) {
  return list.find(' ' + capitals_of(word) + ' ') != std::string_view::npos;
}

/// Returns true if the list contains the first word of the text; see `is_among`.
bool begins_with_any(std::string_view list, std::string_view text) {
  return is_among(list, text.substr(0, text.find(' ')));
}

/// Commands whose effects stay with the connection. `outlasts_reset` finds the commands whose
/// effects stay even after RESET.
constexpr std::string_view changing =
    " MULTI WATCH SUBSCRIBE PSUBSCRIBE SSUBSCRIBE MONITOR SELECT AUTH HELLO CLIENT READONLY ASKING "
    "SYNC PSYNC REPLCONF RESET QUIT ";
bool outlasts_reset(const words& command) {
  const std::string_view second = command.size() > 1 ? command[1] : std::string_view();
  return (is_among(" CLIENT ", command[0]) && is_among(" NO-EVICT NO-TOUCH ", second)) ||
         (is_among(" SCRIPT ", command[0]) && is_among(" DEBUG ", second));
}

/// Refuses commands that get no answer, or whose answer hiredis cannot read.
void refuse_unanswered(const words& command) {
  const auto word = [&command](std::size_t index) {
    return index < command.size() ? command[index] : std::string_view();
  };
  if (is_among(" CLIENT ", word(0)) && is_among(" REPLY ", word(1)) &&
      is_among(" OFF SKIP ", word(2))) {
    throw std::invalid_argument("redis: nothing answers CLIENT REPLY OFF and SKIP");
  }
#ifndef REDIS_REPLY_PUSH
  if (is_among(" HELLO ", word(0)) && word(1) == "3") {
    throw std::invalid_argument("redis: RESP3 needs hiredis 1.0");
  }
#endif
}

/// Errors of a server that has become a replica, or has no data. Another connection may do better.
constexpr std::string_view unfit = " READONLY LOADING MASTERDOWN UNBLOCKED ";

/// Returns true for errors that would recur after a retry. Before Redis 6, such errors have no code
/// of their own: they begin with ERR.
bool is_permanent(std::string_view error) {
  constexpr std::string_view old(" INVALID DB AUTH CLIENT SELECT ");
  return begins_with_any(" WRONGPASS NOAUTH NOPERM DENIED ", error) ||
         (error.starts_with("ERR ") && begins_with_any(old, error.substr(4)));
}

/// Returns true if PING was refused because the user lacks the right, or because the server cannot
/// save its data.
bool is_refused_alone(const redis_answer& answer) {
  return answer.is_error && begins_with_any(" NOPERM MISCONF ", answer.text);
}

std::string text_of(const redisReply& reply) {
  if (reply.str != nullptr) {
    return {reply.str, reply.len};
  }
#ifdef REDIS_REPLY_BOOL  // hiredis 1.0
  const bool is_number = reply.type == REDIS_REPLY_INTEGER || reply.type == REDIS_REPLY_BOOL;
#else
  const bool is_number = reply.type == REDIS_REPLY_INTEGER;
#endif
  std::string text = is_number ? std::to_string(reply.integer) : std::string();
  for (std::size_t i = 0; i < reply.elements; ++i) {
    text.append(i == 0 ? "" : "\n").append(text_of(*reply.element[i]));
  }
  return text;
}

std::string format(const words& command) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string_view word : command) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* raw = nullptr;
  const auto size = redisFormatCommandArgv(&raw, static_cast<int>(std::ssize(command)),
                                           texts.data(), sizes.data());
  const std::unique_ptr<char, void (*)(char*)> owner(raw, &redisFreeCommand);
  return size < 0 ? throw std::bad_alloc() : std::string(raw, static_cast<std::size_t>(size));
}

/// Sends within the time-out of the context. Prevents SIGPIPE, which hiredis does not.
void send(redisContext* context, std::string_view bytes) {
  check_status(context, context->err);
  while (!bytes.empty()) {
    const ssize_t sent = ::send(context->fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      context->err = REDIS_ERR_IO;
      fail(context, detail::text_of(errno));
    }
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
  }
}

#ifdef REDIS_REPLY_PUSH
/// Returns true for commands whose answer is pushed in RESP3.
bool is_pushed(std::string_view command) {
  return is_among(" SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE ",
                  command);
}

/// Returns true if a push reports that `command` was done, that is, if its first element is the
/// name of the command.
bool answers(const redisReply& push, std::string_view command) {
  return is_pushed(command) && push.elements != 0 && push.element[0]->str != nullptr &&
         is_among(" " + capitals_of(command) + ' ', text_of(*push.element[0]));
}

/// Writes like hiredis' own function, but without causing SIGPIPE.
ssize_t write_quietly(redisContext* context) {
  const ssize_t sent = ::send(context->fd, context->obuf, sdslen(context->obuf), MSG_NOSIGNAL);
  const bool waits = errno == EWOULDBLOCK && (context->flags & REDIS_BLOCK) == 0;
  if (sent >= 0 || waits || errno == EINTR) {
    return std::max<ssize_t>(sent, 0);
  }
  const std::string text = detail::text_of(errno);
  context->err = REDIS_ERR_IO;
  context->errstr[text.copy(&context->errstr[0], sizeof context->errstr - 1)] = '\0';
  return -1;
}

/// Prevents SIGPIPE when users write through the context.
void write_without_signal(redisContext* context) {
  static const redisContextFuncs quiet = [&context] {
    redisContextFuncs all = *context->funcs;
    all.write = &write_quietly;
    return all;
  }();
  context->funcs = &quiet;
}
#else
void ignore(int /*signal*/) {}

/// Makes the process survive SIGPIPE with older versions of hiredis. They call write(2), for which
/// the signal cannot be turned off. Uses a handler, since programs that this program starts would
/// inherit an ignored signal. Does not change what the program itself has set for the signal.
void survive_sigpipe() {
  static const bool is_done = [] {
    struct sigaction now {};
    const bool is_known = ::sigaction(SIGPIPE, nullptr, &now) == 0;
    if (is_known && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL) {
      now.sa_handler = &ignore;
      now.sa_flags = SA_RESTART;
      (void)::sigaction(SIGPIPE, &now, nullptr);
    }
    return true;
  }();
  (void)is_done;
}
#endif

/// Returns the next answer. Skips pushes that do not answer `command`. Does not use the time-out of
/// hiredis, which starts over with each byte that arrives.
redis_answer receive(redisContext* context, const create_context& limit,
                     [[maybe_unused]] std::string_view command = {}) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    void* raw = nullptr;
    check_status(context, redisGetReplyFromReader(context, &raw));
    const std::unique_ptr<void, void (*)(void*)> owner(raw, &freeReplyObject);
    const auto* const reply = static_cast<const redisReply*>(raw);
#ifdef REDIS_REPLY_PUSH  // pushes for a user's subscriptions answer no command
    if (reply != nullptr && reply->type == REDIS_REPLY_PUSH && !answers(*reply, command)) {
      continue;
    }
#endif
    if (reply != nullptr) {
      return {.is_error = reply->type == REDIS_REPLY_ERROR,
              .is_nil = reply->type == REDIS_REPLY_NIL,
              .text = text_of(*reply)};
    }
    if (const int failed = detail::wait_for(context->fd, POLLIN, limit)) {
      const auto took = std::chrono::steady_clock::now() - begin;
      const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
      fail(context, failed == ECANCELED ? "asked to stop"
                                        : "no answer within " + std::to_string(ms) + " ms");
    }
    check_status(context, redisBufferRead(context));
  }
}

/// Connects, and sets the fields that hiredis needs to reconnect, as if hiredis had connected
/// itself.
void connect(redisContext* made, const redis_target& target, detail::address_memory& memory,
             const create_context& limit) {
  const bool by_path = !target.path.empty();
  made->connection_type = by_path ? REDIS_CONN_UNIX : REDIS_CONN_TCP;
  (by_path ? made->unix_sock.path : made->tcp.host) =
      hi_strdup((by_path ? target.path : target.host).c_str());
  made->tcp.port = target.port;
  const std::string port = std::to_string(target.port);
  std::vector<detail::address> all(by_path ? 1 : 0);
  if (by_path ? target.path.size() >= sizeof sockaddr_un::sun_path : detail::is_no_port(port)) {
    fail(made, by_path ? detail::text_of(ENAMETOOLONG) : "there is no such port",
         /*for_ever=*/true);
  }
  if (by_path) {
    sockaddr_un named{.sun_family = AF_UNIX, .sun_path = {}};
    std::copy(target.path.begin(), target.path.end(), std::begin(named.sun_path));
    std::memcpy(&all[0].bytes, &named, sizeof named);
    all[0].size = sizeof named;
  }
  int failed = by_path ? 0 : detail::look_up(target.host, port, limit, all);
  failed = failed == 0 ? detail::dial(all, target.keep_alive, memory, limit, made->fd) : failed;
  if (failed != 0) {
    fail(made, detail::text_of(failed));
  }
}

/// Returns the text of a server's error without the words of a command. A server that does not know
/// AUTH repeats those words, and may escape them.
std::string without_words(const std::string& text) {
  return text.substr(0, text.find(", with args"));
}

/// Signs in and sends PING, in one round trip. If `word` is not empty, first sends RESET, and adds
/// `word` to PING. A user may have left answers unread, and only a word of our own distinguishes
/// the answer to PING from those answers. If PING is refused, sends `word` as a command. The server
/// does not know this command, and therefore repeats `word` in its answer.
void sign_in(redisContext* context, const create_context& limit, const redis_target& target,
             const std::string& word) {
  std::vector<words> all;
  if (!word.empty()) {
    all.push_back({"RESET"});
  }
  if (!target.user.empty()) {  // a user may have no password
    all.push_back({"AUTH", target.user, target.password});
  } else if (!target.password.empty()) {
    all.push_back({"AUTH", target.password});
  }
  const std::string database = std::to_string(target.database);
  if (target.database != 0) {
    all.push_back({"SELECT", database});
  }
  all.push_back(word.empty() ? words{"PING"} : words{"PING", word});
  std::string bytes;
  std::for_each(all.begin(), all.end(), [&](const words& one) { bytes += format(one); });
  send(context, bytes);
  redis_answer answer;
  for (std::size_t i = 0; i < all.size(); ++i) {
    answer = receive(context, limit);
    if (answer.is_error && !(i + 1 == all.size() && is_refused_alone(answer))) {
      fail(context, without_words(answer.text), is_permanent(answer.text));
    }
  }
  if (answer.is_error && !word.empty()) {
    send(context, format({word}));
    answer = receive(context, limit);
  }
  if (answer.text.find(word) == std::string::npos) {
    fail(context, "an answer to another's question");
  }
}

/// Returns true if the connection is between commands, and nothing is left unsent or unread.
bool is_idle(const redisContext* context) {
  const redisReader* const reader = context->reader;
  return context->err == 0 && sdslen(context->obuf) == 0 && reader->pos == reader->len &&
         reader->ridx == -1 && detail::is_quiet(context->fd);
}

}  // namespace

redis_connection::redis_connection(redisContext* context) noexcept
    : context_(context), reply_functions_(context != nullptr ? context->reader->fn : nullptr) {
#ifdef REDIS_REPLY_PUSH
  push_ = context != nullptr ? context->push_cb : nullptr;
#else
  (void)push_;  // this version of hiredis has no pushes
#endif
}

void redis_connection::closer::operator()(redisContext* context) const noexcept {
  redisFree(context);
}

redisContext* redis_connection::context() noexcept {
#ifndef REDIS_REPLY_PUSH
  survive_sigpipe();
#endif
  changed_ = true;
  return context_.get();
}

redis_answer redis_connection::ask(const words& command) {
  if (command.empty()) {
    throw std::invalid_argument("redis: an empty command");
  }
  refuse_unanswered(command);
  changed_ = changed_ || is_among(changing, command[0]);
  const bool was_unfit = std::exchange(unfit_, true) || outlasts_reset(command);
  send(context_.get(), format(command));
  redis_answer answer =
      receive(context_.get(), {detail::deadline::after(timeout_).moment(), {}}, command[0]);
  unfit_ = was_unfit || (answer.is_error && begins_with_any(unfit, answer.text));
  return answer;
}

redis_answer redis_connection::ask(std::string_view command) {
  words all;
  while (!command.empty()) {
    const std::size_t end = (std::min)(command.find(' '), command.size());
    if (end != 0) {
      all.push_back(command.substr(0, end));
    }
    command.remove_prefix((std::min)(end + 1, command.size()));
  }
  return ask(all);
}

void redis_connection::check(const redisReply* answer) {
  unfit_ = unfit_ || answer == nullptr ||
           (answer->type == REDIS_REPLY_ERROR && begins_with_any(unfit, answer->str));
}

redis_connection redis_factory::create(const create_context& context) const {
  redis_connection made(redisConnectFd(-1));
  redisContext* const raw = made.context_.get();
  if (raw == nullptr) {
    throw std::bad_alloc();
  }
  made.timeout_ = target_.command_timeout;
#ifdef REDIS_REPLY_PUSH
  write_without_signal(raw);
#endif
  connect(raw, target_, *memory_, context);
  begin(made, context, {});
  return made;
}

bool redis_factory::validate(redis_connection& idle, const create_context& context) const {
  redisContext* const raw = idle.context_.get();
  const bool is_clean = is_idle(raw);
  if (!is_clean || !target_.ping_to_validate) {
    return is_clean;
  }
  send(raw, format({"PING"}));
  const redis_answer answer = receive(raw, context);
  if (answer.text != "PONG" && !is_refused_alone(answer)) {
    fail(raw, "the answer to PING: " + without_words(answer.text));
  }
  return true;
}

bool redis_factory::reset(redis_connection& used) const {
  redisContext* const raw = used.context_.get();
  const bool is_clean = !used.unfit_ && is_idle(raw);
  if (!is_clean || !used.changed_) {
    return is_clean;
  }
  raw->reader->fn = static_cast<redisReplyObjectFunctions*>(used.reply_functions_);
#ifdef REDIS_REPLY_PUSH
  raw->push_cb = used.push_;
#endif
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  begin(used, {detail::deadline::after(target_.command_timeout).moment(), {}},
        "lido-" + std::to_string(now));
  return detail::let_block(raw->fd) && is_idle(raw);
}

void redis_factory::interrupt(redis_connection& used) noexcept {
  if (used.context_ != nullptr) {  // otherwise the user has moved the context out
    // The socket is still open, since hiredis closes it only to reconnect.
    detail::shut_down(used.context_->fd);
  }
}

void redis_factory::begin(redis_connection& session, const create_context& context,
                          const std::string& word) const {
  redisContext* const raw = session.context_.get();
  // Sets the time-out of hiredis, since a user may call functions of hiredis. Zero would mean no
  // time-out.
  const auto us = std::max<std::int64_t>(target_.command_timeout.count() / 1000, 1);
  check_status(raw, redisSetTimeout(raw, {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000}));
  sign_in(raw, context, target_, word);
  if (target_.on_connect) {
    target_.on_connect(session, context);
  }
  session.changed_ = session.unfit_ = false;  // the effects of `on_connect` are meant to stay
}

}  // namespace lido::inline v0
