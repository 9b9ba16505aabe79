#include "lido/connect/redis_factory.hpp"

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dial.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/connect/quiet_socket.hpp"
#include "lido/resource/limits.hpp"
#include "no_pipe_signal.hpp"

namespace lido {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

using words_view = std::vector<std::string_view>;

timeval timeval_of(microseconds time) {
  const auto positive = std::max(time, microseconds(1));  // hiredis waits for ever if it is zero
  return {.tv_sec = static_cast<time_t>(positive.count() / 1'000'000),
          .tv_usec = static_cast<suseconds_t>(positive.count() % 1'000'000)};
}

std::string name_of(const std::string& host, int port) {
  const bool has_colons = host.find(':') != std::string::npos;
  return "redis " + (has_colons ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

/// Whom an error speaks of.
std::string peer_of(const redisContext* context) {
  if (context->connection_type == REDIS_CONN_UNIX && context->unix_sock.path != nullptr) {
    return std::string("redis ") + context->unix_sock.path;
  }
  return context->tcp.host == nullptr ? "redis" : name_of(context->tcp.host, context->tcp.port);
}

[[noreturn]] void throw_error_of(const redisContext* context, const std::string& text) {
  throw std::runtime_error(peer_of(context) + ": " + text);
}

[[noreturn]] void throw_error_of(const redisContext* context) {
  throw_error_of(context, &context->errstr[0]);
}

/// Of what a user asks: each wait of a command may take that long.
void limit_waits(redisContext* context, time_limit time) {
  const auto whole = std::chrono::ceil<microseconds>(std::chrono::nanoseconds(time));
  if (redisSetTimeout(context, timeval_of(whole)) != REDIS_OK) {
    throw_error_of(context, "cannot set a time-out");
  }
}

words_view words_of(std::string_view command) {
  words_view words;
  while (!command.empty()) {
    const std::size_t end = std::min(command.find(' '), command.size());
    if (end != 0) {
      words.push_back(command.substr(0, end));
    }
    command.remove_prefix(std::min(end + 1, command.size()));
  }
  return words;
}

/// `name` is of capital letters. Without toupper, to which in Turkish that of i is none of MULTI.
bool same_word(std::string_view said, std::string_view name) {
  return std::equal(said.begin(), said.end(), name.begin(), name.end(), [](char a, char b) {
    return a == b || (a >= 'a' && a <= 'z' && a - 'a' + 'A' == b);
  });
}

/// Whether what a command does stays with the connection.
bool changes_connection(std::string_view command) {
  constexpr std::array<std::string_view, 17> all{
      "MULTI",  "WATCH", "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR",
      "SELECT", "AUTH",  "HELLO",     "CLIENT",     "READONLY",   "ASKING",
      "SYNC",   "PSYNC", "REPLCONF",  "RESET",      "QUIT"};
  return std::any_of(all.begin(), all.end(),
                     [command](std::string_view word) { return same_word(command, word); });
}

/// Whether it stays after RESET, too.
bool outlasts_reset(const words_view& command) {
  const std::string_view second = command.size() > 1 ? command[1] : std::string_view();
  return (same_word(command[0], "CLIENT") &&
          (same_word(second, "NO-EVICT") || same_word(second, "NO-TOUCH"))) ||
         (same_word(command[0], "SCRIPT") && same_word(second, "DEBUG"));
}

std::string text_of(const redisReply& reply);

// NOLINTNEXTLINE(misc-no-recursion): as deep as the answer, which hiredis has limited
std::string text_of_elements(const redisReply& reply) {
  std::string lines;
  for (std::size_t i = 0; i < reply.elements; ++i) {
    if (i != 0) {
      lines += '\n';
    }
    lines += text_of(*reply.element[i]);
  }
  return lines;
}

// NOLINTNEXTLINE(misc-no-recursion): as above
std::string text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
#ifdef REDIS_REPLY_BOOL  // hiredis 1.0 knows more kinds, in which a user may ask to be answered
    case REDIS_REPLY_BOOL:
#endif
      return std::to_string(reply.integer);
    case REDIS_REPLY_ARRAY:
#ifdef REDIS_REPLY_MAP
    case REDIS_REPLY_MAP:
    case REDIS_REPLY_SET:
    case REDIS_REPLY_PUSH:
#endif
      return text_of_elements(reply);
    case REDIS_REPLY_NIL:
      return {};
    default:
      return {reply.str, reply.len};
  }
}

/// As hiredis takes them.
struct arguments {
  explicit arguments(const words_view& words) {
    for (const std::string_view word : words) {
      texts.push_back(word.data());
      lengths.push_back(word.size());
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(texts.size()); }

  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
};

void check(const redisContext* context, int result) {
  if (result != REDIS_OK) {
    throw_error_of(context);
  }
}

/// Takes the answer over.
redis_answer read_answer(void* raw) {
  const std::unique_ptr<void, void (*)(void*)> owner(raw, &freeReplyObject);
  const auto& reply = *static_cast<const redisReply*>(raw);
  return {.is_error = reply.type == REDIS_REPLY_ERROR,
          .is_nil = reply.type == REDIS_REPLY_NIL,
          .text = text_of(reply)};
}

/// What the kernel lets a wait take: as the target says, or a user who has set another time.
std::string limit_of(int socket) {
  timeval limit{};
  socklen_t size = sizeof limit;
  (void)::getsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, &size);
  return std::to_string(limit.tv_sec * 1000 + (limit.tv_usec + 999) / 1000) + " ms";
}

/// Throws if the connection breaks, or each time no byte comes within the limit of waits.
redis_answer exchange(redisContext* context, const words_view& words) {
  check(context, context->err);  // a broken one fails at once, and errno would be of the past
  arguments all(words);
  const detail::no_pipe_signal while_it_writes;
  void* const raw = redisCommandArgv(context, all.count(), all.texts.data(), all.lengths.data());
  if (raw == nullptr && context->err == REDIS_ERR_IO && errno == EAGAIN) {  // no longer that way
    throw_error_of(context, "no answer within " + limit_of(context->fd));
  }
  if (raw == nullptr) {
    throw_error_of(context);
  }
  return read_answer(raw);
}

void wait_for(const redisContext* context, short events, const create_context& limit) {
  switch (detail::wait_for(context->fd, events, limit)) {
    case detail::wait_result::late:
      throw_error_of(context, "no answer in time");
    case detail::wait_result::stopped:
      throw_error_of(context, "asked to stop");
    case detail::wait_result::ready:
      return;
  }
}

/// What has been read as a whole, or null. What a user has asked to be told of answers nothing.
void* next_answer(redisContext* context) {
  void* raw = nullptr;
  check(context, redisGetReplyFromReader(context, &raw));
#ifdef REDIS_REPLY_PUSH
  while (raw != nullptr && static_cast<const redisReply*>(raw)->type == REDIS_REPLY_PUSH) {
    freeReplyObject(raw);
    raw = nullptr;
    check(context, redisGetReplyFromReader(context, &raw));
  }
#endif
  return raw;
}

/// The same, and throws if the whole answer is not there by the deadline. Not by hiredis' own
/// time-out, which begins anew with each byte that comes, and with each signal.
redis_answer exchange_by(const create_context& limit, redisContext* context,
                         const words_view& words) {
  arguments all(words);
  const detail::no_pipe_signal while_it_writes;
  check(context,
        redisAppendCommandArgv(context, all.count(), all.texts.data(), all.lengths.data()));
  for (int all_written = 0; all_written == 0;) {
    wait_for(context, POLLOUT, limit);
    check(context, redisBufferWrite(context, &all_written));
  }
  void* raw = next_answer(context);
  while (raw == nullptr) {
    wait_for(context, POLLIN, limit);
    check(context, redisBufferRead(context));
    raw = next_answer(context);
  }
  return read_answer(raw);
}

/// Whether the next try would be refused, too. All else may pass: data being read, too many
/// clients, a master that is away.
bool is_permanent(std::string_view refusal) {
  constexpr std::array<std::string_view, 10> wrong_target{"WRONGPASS",
                                                          "NOAUTH",
                                                          "NOPERM",
                                                          "DENIED",
                                                          "ERR invalid password",
                                                          "ERR DB index",
                                                          "ERR invalid DB index",
                                                          "ERR AUTH",
                                                          "ERR Client sent AUTH",
                                                          "ERR SELECT"};
  return std::any_of(wrong_target.begin(), wrong_target.end(),
                     [&](std::string_view words) { return refusal.starts_with(words); });
}

/// Throws if it is an error, permanent_failure if the server refuses for good.
void accept(const redisContext* context, const redis_answer& answer) {
  if (!answer.is_error) {
    return;
  }
  if (is_permanent(answer.text)) {
    throw permanent_failure(peer_of(context) + ": " + answer.text);
  }
  throw_error_of(context, answer.text);
}

void insist(redisContext* context, const create_context& limit, const words_view& words) {
  accept(context, exchange_by(limit, context, words));
}

/// To PING, of a user whose rights do not reach that far, or of a server that cannot save what it
/// has and refuses this as it does writes. Who is not signed in is told something else first.
bool is_refused_alone(const redis_answer& answer) {
  return answer.is_error &&
         (answer.text.starts_with("NOPERM") || answer.text.starts_with("MISCONF"));
}

void sign_in(redisContext* context, const create_context& limit, const redis_target& target) {
  if (!target.user.empty()) {  // who may have no password
    insist(context, limit, {"AUTH", target.user, target.password});
  } else if (!target.password.empty()) {
    insist(context, limit, {"AUTH", target.password});
  }
  if (target.database != 0) {
    insist(context, limit, {"SELECT", std::to_string(target.database)});
  }
}

/// Whether nothing comes before the next answer. Who had the connection may have sent commands and
/// read none of the answers: one of them may look like any answer but that to a word of our own.
/// Where PING is refused the server repeats it as a command that it does not know.
bool answers_in_turn(redisContext* context, const create_context& limit) {
  static detail::atomic<std::uint64_t> words{0};
  // relaxed: a number that nobody else gets
  const std::uint64_t own = words.fetch_add(1, std::memory_order_relaxed);
  const std::string word = "lido-" + std::to_string(own);
  const redis_answer answer = exchange_by(limit, context, {"PING", word});
  return answer.text == word ||
         (is_refused_alone(answer) &&
          exchange_by(limit, context, {word}).text.find(word) != std::string::npos);
}

/// Not as hiredis connects: to one address, until a signal comes, and for started programs, too.
/// The context knows its peer as after that.
redisContext* connect(const redis_target& target, const create_context& context) {
  const bool by_path = !target.path.empty();
  const std::string who = by_path ? "redis " + target.path : name_of(target.host, target.port);
  detail::socket_owner socket = by_path ? detail::dial(who, target.path, context)
                                        : detail::dial(who, target.host, target.port, context);
  redisContext* const made = redisConnectFd(socket.get());
  if (made == nullptr) {
    throw std::bad_alloc();
  }
  (void)socket.release();
  made->connection_type = by_path ? REDIS_CONN_UNIX : REDIS_CONN_TCP;
  if (by_path) {
    made->unix_sock.path = hi_strdup(target.path.c_str());
  } else {
    made->tcp.host = hi_strdup(target.host.c_str());
    made->tcp.port = target.port;
    (void)redisEnableKeepAlive(made);
  }
  return made;
}

}  // namespace

void redis_connection::closer::operator()(redisContext* context) const noexcept {
  redisFree(context);
}

redis_answer redis_connection::ask(std::string_view command) {
  const words_view words = words_of(command);
  if (words.empty()) {
    throw std::invalid_argument("redis: an empty command");
  }
  changed_ = changed_ || changes_connection(words.front());
  outlasts_reset_ = outlasts_reset_ || outlasts_reset(words);
  return exchange(context_.get(), words);
}

redis_connection redis_factory::create(const create_context& context) const {
  redis_connection made(connect(target_, context));
  redisContext* const raw = made.context_.get();
  sign_in(raw, context, target_);
  // A server that wants a password says so only when it is asked something.
  const redis_answer answer = exchange_by(context, raw, {"PING"});
  if (!is_refused_alone(answer)) {
    accept(raw, answer);
  }
  limit_waits(raw, target_.command_timeout);
  return made;
}

bool redis_factory::validate(redis_connection& idle, const create_context& context) noexcept {
  try {
    redisContext* const raw = idle.context_.get();
    if (raw->err != 0 || !detail::is_quiet(raw->fd)) {
      return false;
    }
    const redis_answer answer = exchange_by(context, raw, {"PING"});
    return answer.text == "PONG" || is_refused_alone(answer);
  } catch (...) {
    return false;
  }
}

bool redis_factory::reset(redis_connection& used) const noexcept {
  try {
    redisContext* const raw = used.context_.get();
    if (used.outlasts_reset_) {
      return false;
    }
    const bool is_clean = raw->err == 0 && sdslen(raw->obuf) == 0 &&
                          raw->reader->pos == raw->reader->len && raw->reader->ridx == -1;
    if (!used.changed_) {
      return is_clean && detail::is_quiet(raw->fd);
    }
    const create_context limit{detail::clock_after(target_.command_timeout), {}};
    if (!is_clean || !detail::set_blocking(raw->fd, /*on=*/true) ||
        exchange_by(limit, raw, {"RESET"}).text != "RESET") {
      return false;
    }
    sign_in(raw, limit, target_);
    if (!answers_in_turn(raw, limit)) {
      return false;
    }
    limit_waits(raw, target_.command_timeout);  // the user may have set another limit
    used.changed_ = false;
    return detail::is_quiet(raw->fd);
  } catch (...) {
    return false;
  }
}

}  // namespace lido
