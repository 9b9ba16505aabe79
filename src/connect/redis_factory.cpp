#include "lido/connect/redis_factory.hpp"

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "lido/connect/quiet_socket.hpp"

namespace lido {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

timeval timeval_of(microseconds time) {
  const auto positive = std::max(time, microseconds(1));  // hiredis waits for ever if it is zero
  return {.tv_sec = static_cast<time_t>(positive.count() / 1'000'000),
          .tv_usec = static_cast<suseconds_t>(positive.count() % 1'000'000)};
}

microseconds left_until(std::chrono::steady_clock::time_point deadline) {
  return std::chrono::duration_cast<microseconds>(deadline - std::chrono::steady_clock::now());
}

/// Who writes to a peer that has gone is ended by SIGPIPE, which hiredis leaves as it is: while one
/// of these lives, this thread gets none, and none of its own later.
class no_pipe_signal {
 public:
  no_pipe_signal() noexcept {
    sigset_t pending;
    (void)sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    (void)sigemptyset(&pipe_);
    (void)sigaddset(&pipe_, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  no_pipe_signal(const no_pipe_signal&) = delete;
  no_pipe_signal& operator=(const no_pipe_signal&) = delete;
  ~no_pipe_signal() {
    constexpr timespec at_once{};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

/// Not exactly: each wait of a command may take that long.
void limit_waits(redisContext* context, microseconds time) {
  if (redisSetTimeout(context, timeval_of(time)) != REDIS_OK) {
    throw std::runtime_error("redis: cannot set a time-out");
  }
}

std::vector<std::string_view> words_of(std::string_view command) {
  std::vector<std::string_view> words;
  while (!command.empty()) {
    const std::size_t end = std::min(command.find(' '), command.size());
    if (end != 0) {
      words.push_back(command.substr(0, end));
    }
    command.remove_prefix(std::min(end + 1, command.size()));
  }
  return words;
}

bool same_word(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) == b;
  });
}

/// Whether what a command does stays with the connection.
bool changes_connection(std::string_view command) {
  constexpr std::array<std::string_view, 15> all{
      "MULTI", "WATCH",  "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR", "SELECT",  "AUTH",
      "HELLO", "CLIENT", "READONLY",  "ASKING",     "SYNC",       "PSYNC",   "REPLCONF"};
  return std::any_of(all.begin(), all.end(),
                     [command](std::string_view word) { return same_word(command, word); });
}

std::string text_of(const redisReply& reply);

// NOLINTNEXTLINE(misc-no-recursion): as deep as the answer, which hiredis has limited
std::string text_of_elements(const redisReply& reply) {
  std::string lines;
  for (std::size_t i = 0; i < reply.elements; ++i) {
    lines += (i == 0 ? "" : "\n") + text_of(*reply.element[i]);
  }
  return lines;
}

// NOLINTNEXTLINE(misc-no-recursion): as above
std::string text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      return std::to_string(reply.integer);
    case REDIS_REPLY_ARRAY:
      return text_of_elements(reply);
    case REDIS_REPLY_NIL:
      return {};
    default:
      return {reply.str, reply.len};
  }
}

/// Throws if the connection breaks.
redis_answer exchange(redisContext* context, const std::vector<std::string_view>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> lengths;
  for (const std::string_view word : words) {
    texts.push_back(word.data());
    lengths.push_back(word.size());
  }
  const no_pipe_signal while_it_writes;
  void* const raw =
      redisCommandArgv(context, static_cast<int>(words.size()), texts.data(), lengths.data());
  if (raw == nullptr) {
    throw std::runtime_error(std::string("redis: ") + &context->errstr[0]);
  }
  const std::unique_ptr<void, void (*)(void*)> owner(raw, &freeReplyObject);
  const auto& reply = *static_cast<const redisReply*>(raw);
  return {.is_error = reply.type == REDIS_REPLY_ERROR,
          .is_nil = reply.type == REDIS_REPLY_NIL,
          .text = text_of(reply)};
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

/// Throws permanent_failure if the server refuses for good.
void insist(redisContext* context, const create_context& limit,
            const std::vector<std::string_view>& words) {
  const microseconds left = left_until(limit.deadline);
  if (limit.stop.stop_requested() || left <= microseconds::zero()) {
    throw std::runtime_error(limit.stop.stop_requested() ? "redis: asked to stop"
                                                         : "redis: no connection in time");
  }
  limit_waits(context, left);
  const redis_answer answer = exchange(context, words);
  if (!answer.is_error) {
    return;
  }
  if (is_permanent(answer.text)) {
    throw permanent_failure("redis: " + answer.text);
  }
  throw std::runtime_error("redis: " + answer.text);
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

}  // namespace

void redis_connection::closer::operator()(redisContext* context) const noexcept {
  redisFree(context);
}

redis_answer redis_connection::ask(std::string_view command) {
  const std::vector<std::string_view> words = words_of(command);
  if (words.empty()) {
    throw std::invalid_argument("redis: an empty command");
  }
  changed_ = changed_ || changes_connection(words.front());
  return exchange(context_.get(), words);
}

redis_connection redis_factory::create(const create_context& context) const {
  const timeval limit = timeval_of(left_until(context.deadline));
  redis_connection made(target_.path.empty()
                            ? redisConnectWithTimeout(target_.host.c_str(), target_.port, limit)
                            : redisConnectUnixWithTimeout(target_.path.c_str(), limit));
  redisContext* const raw = made.context_.get();
  if (raw == nullptr) {
    throw std::bad_alloc();
  }
  if (raw->err != 0) {
    throw std::runtime_error(std::string("redis: ") + &raw->errstr[0]);
  }
  if (target_.path.empty()) {
    (void)redisEnableKeepAlive(raw);
  }
  sign_in(raw, context, target_);
  // A server that wants a password says so only when it is asked something.
  insist(raw, context, {"PING"});
  limit_waits(raw, target_.command_timeout);
  return made;
}

bool redis_factory::validate(redis_connection& idle, const create_context& context) const noexcept {
  try {
    redisContext* const raw = idle.context_.get();
    if (raw->err != 0 || !detail::is_quiet(raw->fd)) {
      return false;
    }
    limit_waits(raw, left_until(context.deadline));
    const redis_answer answer = exchange(raw, {"PING"});
    limit_waits(raw, target_.command_timeout);
    return answer.text == "PONG";
  } catch (...) {
    return false;
  }
}

bool redis_factory::reset(redis_connection& used) const noexcept {
  try {
    redisContext* const raw = used.context_.get();
    const bool is_clean = raw->err == 0 && sdslen(raw->obuf) == 0 &&
                          raw->reader->pos == raw->reader->len && raw->reader->ridx == -1;
    if (!used.changed_) {
      return is_clean && detail::is_quiet(raw->fd);
    }
    const create_context limit{std::chrono::steady_clock::now() + target_.command_timeout, {}};
    limit_waits(raw, target_.command_timeout);  // the user may have set another limit
    if (!is_clean || exchange(raw, {"RESET"}).text != "RESET") {
      return false;
    }
    sign_in(raw, limit, target_);
    limit_waits(raw, target_.command_timeout);
    used.changed_ = false;
    return detail::is_quiet(raw->fd);
  } catch (...) {
    return false;
  }
}

}  // namespace lido
