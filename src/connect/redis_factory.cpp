#include "lido/connect/redis_factory.hpp"

#include <hiredis/alloc.h>
#include <hiredis/hiredis.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <vector>

#include "lido/connect/dial.hpp"
#include "lido/resource/limits.hpp"

namespace lido {

namespace {

using words_view = std::span<const std::string_view>;
using words_list = std::initializer_list<std::string_view>;

std::string name_of(const char* path, const std::string& host, int port) {
  const bool has_colons = host.find(':') != std::string::npos;
  const std::string who = (has_colons ? '[' + host + ']' : host) + ':' + std::to_string(port);
  return "redis " + (path != nullptr ? path : who) + ": ";
}

[[noreturn]] void fail(const std::string& text, bool for_ever) {
  for_ever ? throw permanent_failure(text) : throw std::runtime_error(text);
}

[[noreturn]] void fail(const redisContext* context, const std::string& text,
                       bool for_ever = false) {
  const char* const host = context->tcp.host;
  fail(name_of(context->unix_sock.path, host != nullptr ? host : "", context->tcp.port) + text,
       for_ever);
}

void check_status(const redisContext* context, int result) {
  if (result != REDIS_OK) {
    fail(context, &context->errstr[0]);
  }
}

/// Whether a word is in the list, which has capital letters, and a blank at both ends. Not by
/// toupper, to which the capital of i depends on the language.
bool is_among(std::string_view word, std::string_view list) {
  std::string capitals(1, ' ');
  for (const char c : word) {
    capitals += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return list.find(capitals + ' ') != std::string_view::npos;
}

bool changes_connection(words_view command) {
  return is_among(command[0],
                  " MULTI WATCH SUBSCRIBE PSUBSCRIBE SSUBSCRIBE MONITOR SELECT AUTH HELLO CLIENT "
                  "READONLY ASKING SYNC PSYNC REPLCONF RESET QUIT ");
}

/// What RESET leaves.
bool outlasts_reset(words_view command) {
  const std::string_view second = command.size() > 1 ? command[1] : std::string_view();
  return (is_among(command[0], " CLIENT ") && is_among(second, " NO-EVICT NO-TOUCH ")) ||
         (is_among(command[0], " SCRIPT ") && is_among(second, " DEBUG "));
}

bool begins_with_any(std::string_view text, words_list beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [text](std::string_view one) { return text.starts_with(one); });
}

/// Of a server that has become a replica, or has no data: another connection may find a better one.
bool tells_unfit(std::string_view error) {
  return begins_with_any(error, {"READONLY ", "LOADING ", "MASTERDOWN ", "UNBLOCKED "});
}

/// Whether the next try would be refused, too.
bool is_permanent(std::string_view error) {
  return begins_with_any(
      error, {"WRONGPASS", "NOAUTH", "NOPERM", "DENIED", "ERR invalid password", "ERR DB index",
              "ERR invalid DB index", "ERR AUTH", "ERR Client sent AUTH", "ERR SELECT"});
}

/// To PING, of a user without the right to it, or of a server that cannot save its data.
bool is_refused_alone(const redis_answer& answer) {
  return answer.is_error && begins_with_any(answer.text, {"NOPERM", "MISCONF"});
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the answer, which hiredis has limited
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
    text += (i == 0 ? "" : "\n") + text_of(*reply.element[i]);
  }
  return text;
}

/// As hiredis writes commands.
std::string format(words_view words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string_view word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  char* raw = nullptr;
  const auto size =
      redisFormatCommandArgv(&raw, static_cast<int>(words.size()), texts.data(), lengths.data());
  const std::unique_ptr<char, void (*)(char*)> owner(raw, &redisFreeCommand);
  return size < 0 ? throw std::bad_alloc() : std::string(raw, static_cast<std::size_t>(size));
}

std::string format(words_list words) {
  return format(words_view(words.begin(), words.size()));
}

/// Without SIGPIPE, of which hiredis knows nothing. No longer than the time-out of the context.
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

/// The next answer. Not by hiredis' own time-out, which begins anew with each byte that comes.
redis_answer receive(redisContext* context, const create_context& limit) {
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    void* raw = nullptr;
    check_status(context, redisGetReplyFromReader(context, &raw));
    const std::unique_ptr<void, void (*)(void*)> owner(raw, &freeReplyObject);
    const auto* const reply = static_cast<const redisReply*>(raw);
#ifdef REDIS_REPLY_PUSH  // what a user has asked to be told of answers nothing
    if (reply != nullptr && reply->type == REDIS_REPLY_PUSH) {
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

/// Of hiredis, whose functions a user may call. Zero would be for ever.
void limit_waits(redisContext* context, time_limit time) {
  const auto us = std::max<std::int64_t>(time.count() / 1000, 1);
  const timeval wait{.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
  check_status(context, redisSetTimeout(context, wait));
}

redisContext* connect(const redis_target& target, const create_context& limit) {
  const char* const path = target.path.empty() ? nullptr : target.path.c_str();
  const std::string who = name_of(path, target.host, target.port);
  const std::string port = std::to_string(target.port);
  if (path == nullptr && detail::is_no_port(port)) {
    fail(who + "there is no such port", /*for_ever=*/true);
  }
  std::vector<detail::address> all;
  int socket = -1;
  int failed = path != nullptr ? detail::look_up(target.path, all)
                               : detail::look_up(target.host, port, limit, all);
  failed = failed == 0 ? detail::dial(all, target.keep_alive, limit, socket) : failed;
  if (failed != 0) {
    fail(who + detail::text_of(failed), failed == ENAMETOOLONG);
  }
  redisContext* const made = redisConnectFd(socket);
  if (made == nullptr) {
    ::close(socket);
    throw std::bad_alloc();
  }
  made->connection_type = path != nullptr ? REDIS_CONN_UNIX : REDIS_CONN_TCP;  // to reconnect
  (path != nullptr ? made->unix_sock.path : made->tcp.host) =
      hi_strdup(path != nullptr ? path : target.host.c_str());
  made->tcp.port = target.port;
  return made;
}

/// Signs in and asks something, in one round trip. With a `word` after a RESET: a user may have
/// left answers unread, which look like any but that to a word of our own. Where PING is refused
/// the server repeats it as a command that it does not know.
void start_session(redisContext* context, const create_context& limit, const redis_target& target,
                   const std::string& word) {
  int expected = 0;
  std::string all;
  const auto insist = [&](words_list command) {
    all += format(command);
    ++expected;
  };
  if (!word.empty()) {
    insist({"RESET"});
  }
  if (!target.user.empty()) {  // which may have no password
    insist({"AUTH", target.user, target.password});
  } else if (!target.password.empty()) {
    insist({"AUTH", target.password});
  }
  if (target.database != 0) {
    insist({"SELECT", std::to_string(target.database)});
  }
  send(context, all + (word.empty() ? format({"PING"}) : format({"PING", word})));
  redis_answer answer = receive(context, limit);
  for (; expected != 0 && !answer.is_error; --expected) {
    answer = receive(context, limit);
  }
  const bool is_refused = expected == 0 && is_refused_alone(answer);
  if (answer.is_error && !is_refused) {
    fail(context, answer.text, is_permanent(answer.text));
  }
  if (is_refused && !word.empty()) {
    send(context, format({word}));
    answer = receive(context, limit);
  }
  if (answer.text.find(word) == std::string::npos) {
    fail(context, "an answer to another's question");
  }
}

/// Between commands, with nothing unsent or unread.
bool is_idle(const redisContext* context) {
  const redisReader* const reader = context->reader;
  return context->err == 0 && sdslen(context->obuf) == 0 && reader->pos == reader->len &&
         reader->ridx == -1 && detail::is_quiet(context->fd);
}

}  // namespace

redis_connection::redis_connection(redisContext* context) noexcept : context_(context) {}

void redis_connection::closer::operator()(redisContext* context) const noexcept {
  redisFree(context);
}

redis_answer redis_connection::ask(std::span<const std::string_view> words) {
  if (words.empty()) {
    throw std::invalid_argument("redis: an empty command");
  }
  changed_ = changed_ || changes_connection(words);
  const bool was_unfit = std::exchange(unfit_, true) || outlasts_reset(words);
  send(context_.get(), format(words));
  redis_answer answer = receive(context_.get(), {detail::clock_after(timeout_), {}});
  unfit_ = was_unfit || (answer.is_error && tells_unfit(answer.text));
  return answer;
}

redis_answer redis_connection::ask(std::string_view command) {
  std::vector<std::string_view> words;
  while (!command.empty()) {
    const std::size_t end = std::min(command.find(' '), command.size());
    if (end != 0) {
      words.push_back(command.substr(0, end));
    }
    command.remove_prefix(std::min(end + 1, command.size()));
  }
  return ask(words);
}

void redis_connection::check(const redisReply* answer) noexcept {
  unfit_ = unfit_ || answer == nullptr ||
           (answer->type == REDIS_REPLY_ERROR && tells_unfit({answer->str, answer->len}));
}

redis_connection redis_factory::create(const create_context& context) const {
  redis_connection made(connect(target_, context));
  made.timeout_ = target_.command_timeout;
  made.reply_functions_ = made.context_->reader->fn;
#ifdef REDIS_REPLY_PUSH
  made.push_ = made.context_->push_cb;
#endif
  begin(made, context, {});
  return made;
}

bool redis_factory::validate(redis_connection& idle, const create_context& context) const noexcept {
  redisContext* const raw = idle.context_.get();
  if (!is_idle(raw) || !target_.ping_to_validate) {
    return is_idle(raw);
  }
  try {
    send(raw, format({"PING"}));
    const redis_answer answer = receive(raw, context);
    return answer.text == "PONG" || is_refused_alone(answer);
  } catch (...) {
    return false;
  }
}

bool redis_factory::reset(redis_connection& used) const noexcept {
  redisContext* const raw = used.context_.get();
  if (used.unfit_ || !is_idle(raw) || !used.changed_) {
    return !used.unfit_ && is_idle(raw);
  }
  try {
    raw->reader->fn = static_cast<redisReplyObjectFunctions*>(used.reply_functions_);
#ifdef REDIS_REPLY_PUSH
    raw->push_cb = used.push_;
#endif
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    begin(used, {detail::clock_after(target_.command_timeout), {}}, "lido-" + std::to_string(now));
    return detail::let_block(raw->fd) && is_idle(raw);
  } catch (...) {
    return false;
  }
}

void redis_factory::begin(redis_connection& session, const create_context& context,
                          const std::string& word) const {
  redisContext* const raw = session.context_.get();
  limit_waits(raw, target_.command_timeout);  // a user may have set another limit
  start_session(raw, context, target_, word);
  if (target_.on_connect) {
    target_.on_connect(session, context);
  }
  session.changed_ = session.unfit_ = false;  // what the hook does stays
}

}  // namespace lido
