// Fuzz target: conninfos and URLs, right and malformed, that have a secret somewhere, and targets
// of Redis whose server repeats what it is told. No error has the secret, unless it stands for a
// host, a port, a database or a user.
#include <libpq-fe.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "fuzz/byte_reader.hpp"
#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "lido/hiredis.hpp"
#include "lido/libpq.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::string_view secret = "s3cr3t";

constexpr std::array pieces{"s3cr3t",
                            "s3cr3t",
                            "password=",
                            "passwd=",
                            "host=",
                            "hostaddr=",
                            "port=",
                            "user=",
                            "dbname=",
                            "sslmode=",
                            "sslpassword=",
                            "target_session_attrs=",
                            "connect_timeout=",
                            "options=",
                            "service=",
                            "127.0.0.1",
                            "localhost",
                            "/nowhere",
                            ",",
                            "1",
                            "70000",
                            "u",
                            "d",
                            " ",
                            "'",
                            "\"",
                            "\\",
                            "=",
                            "postgresql://",
                            "postgres://",
                            ":",
                            "@",
                            "/",
                            "?",
                            "&",
                            "#",
                            "%",
                            "%20",
                            "%s",
                            "[",
                            "]",
                            "::1",
                            "require",
                            "any",
                            "-c ",
                            "\n",
                            "\t",
                            ";"};

std::string text_of(fuzz::byte_reader& input, std::size_t most) {
  std::string all;
  for (; input.more() && most != 0; --most) {
    all += pieces.at(input.below(pieces.size()));
  }
  return all;
}

bool has_secret(std::string_view text) {
  return text.find(secret) != std::string_view::npos;
}

/// Whether libpq may be asked to connect: to this machine, where no server answers. `may_tell`: the
/// secret stands where an error may name it.
bool leads_nowhere(const std::string& conninfo, bool& may_tell) {
  const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption*)> parsed(
      PQconninfoParse(conninfo.c_str(), nullptr), &PQconninfoFree);
  for (const auto* one = parsed.get(); one != nullptr && one->keyword != nullptr; ++one) {
    const std::string_view name = one->keyword;
    const std::string_view value = one->val != nullptr ? one->val : "";
    const bool is_host = name == "host" || name == "hostaddr";
    may_tell = may_tell || ((is_host || name == "port" || name == "dbname" || name == "user") &&
                            has_secret(value));
    if (is_host && value != "127.0.0.1" && value != "/nowhere" && value != "127.0.0.1,127.0.0.1") {
      return false;
    }
  }
  return parsed == nullptr || std::string_view(conninfo).find("host") != std::string_view::npos ||
         conninfo.find("127.0.0.1") != std::string::npos;
}

template <class F>
void expect_no_secret(const F& create, bool may_tell) {
  try {
    create(lido::create_context{std::chrono::steady_clock::now() + 200ms, {}});
  } catch (const std::exception& error) {
    fuzz::check(may_tell || !has_secret(error.what()), error.what());
  }
}

/// Answers each connection with an error that repeats what it was sent, as Redis before 6 does.
class parrot {
 public:
  parrot() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    fuzz::check(::bind(socket_, address(here), size) == 0 && ::listen(socket_, 16) == 0 &&
                    ::getsockname(socket_, address(here), &size) == 0,
                "no port to listen at");
    port_ = ntohs(here.sin_port);
    std::thread([socket = socket_] { serve(socket); }).detach();  // as long as the program
  }
  [[nodiscard]] int port() const { return port_; }

 private:
  static sockaddr* address(sockaddr_in& here) {
    return reinterpret_cast<sockaddr*>(&here);  // NOLINT(*-reinterpret-cast): of the system
  }
  static void serve(int socket) {
    for (int peer = ::accept(socket, nullptr, nullptr); peer >= 0;
         peer = ::accept(socket, nullptr, nullptr)) {
      std::array<char, 500> said{};
      const ssize_t size = ::recv(peer, said.data(), said.size(), 0);
      std::string answer = "-ERR unknown command, with args ";
      for (ssize_t i = 0; i < size; ++i) {
        const char c = said.at(static_cast<std::size_t>(i));
        answer += c == '\r' || c == '\n' ? ' ' : c;
      }
      answer += "\r\n";
      (void)::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
      ::close(peer);
    }
  }

  int socket_;
  int port_ = 0;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::byte_reader input(std::span(data, size));
  if (input.below(4) == 0) {
    static const parrot server;
    lido::redis_target target;
    target.port = input.below(4) != 0 ? server.port() : static_cast<int>(input.below(3)) - 1;
    target.path = input.below(4) == 0 ? "/nowhere" : "";
    target.user = input.below(2) == 0 ? "u" : "";
    target.password = text_of(input, 3) + std::string(secret);
    expect_no_secret(
        [&](const lido::create_context& limit) { (void)lido::redis_factory(target).create(limit); },
        /*may_tell=*/false);
    return 0;
  }
  const std::string conninfo = text_of(input, 24);
  bool may_tell = false;
  if (leads_nowhere(conninfo, may_tell)) {
    expect_no_secret(
        [&](const lido::create_context& limit) {
          (void)lido::postgres_factory({.conninfo = conninfo}).create(limit);
        },
        may_tell);
  }
  return 0;
}
