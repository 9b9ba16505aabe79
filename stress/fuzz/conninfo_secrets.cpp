// Fuzz target: conninfos and URLs, correct and malformed, that contain a secret somewhere, and
// targets of Redis. Servers repeat what they are told, or agree to encrypt, and libpq speaks
// German. No error contains the secret, unless it stands for a host, a port, a database or a user.
#include <libpq-fe.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <cstring>
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
                            ";",
                            "application_name=",
                            "sslrootcert=",
                            "verify-full",
                            "/s3cr3t"};

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

/// Returns whether libpq may be asked to connect: to this machine, where no server answers. Sets
/// `may_tell` if the secret stands where an error may name it.
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

/// A server at a port of its own.
class parrot {
 public:
  /// `answer` computes the answer to a client's message.
  explicit parrot(std::string (*answer)(std::string_view said))
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    fuzz::check(::bind(socket_, address(here), size) == 0 && ::listen(socket_, 16) == 0 &&
                    ::getsockname(socket_, address(here), &size) == 0,
                "no port to listen at");
    port_ = ntohs(here.sin_port);
    std::thread([socket = socket_, answer] { serve(socket, answer); }).detach();  // for ever
  }
  [[nodiscard]] int port() const { return port_; }

 private:
  static sockaddr* address(sockaddr_in& here) {
    return reinterpret_cast<sockaddr*>(&here);  // NOLINT(*-reinterpret-cast): of the system
  }
  static void serve(int socket, std::string (*answer)(std::string_view said)) {
    for (int peer = ::accept(socket, nullptr, nullptr); peer >= 0;
         peer = ::accept(socket, nullptr, nullptr)) {
      std::array<char, 4000> said{};
      for (ssize_t size = 1; size > 0;) {
        size = ::recv(peer, said.data(), said.size(), 0);
        const std::string told =
            size > 0 ? answer({said.data(), static_cast<std::size_t>(size)}) : std::string();
        size = told.empty() ? 0 : ::send(peer, told.data(), told.size(), MSG_NOSIGNAL);
      }
      ::close(peer);
    }
  }

  int socket_;
  int port_ = 0;
};

/// Repeats the arguments of an unknown command, as Redis before 6 does.
std::string repeated(std::string_view said) {
  std::string answer = "-ERR unknown command, with args ";
  for (const char c : said) {
    answer += c == '\r' || c == '\n' ? ' ' : c;
  }
  return answer + "\r\n";
}

/// Returns an error as a PostgreSQL server sends it, whose text is the client's message, with
/// blanks for its zeros. A message of eight bytes asks only for encryption.
std::string refused(std::string_view said) {
  if (said.size() <= 8) {
    return "N";
  }
  std::string text("SFATAL\0C28000\0M", 15);
  for (const char c : said.substr(8)) {
    text += c != '\0' ? c : ' ';
  }
  text += std::string(2, '\0');
  const auto size = htonl(static_cast<std::uint32_t>(text.size() + sizeof(std::uint32_t)));
  std::array<char, sizeof size> bytes{};
  std::memcpy(bytes.data(), &size, sizeof size);
  return 'E' + std::string(bytes.data(), bytes.size()) + text;
}

/// Agrees to encrypt, and hangs up when encryption begins.
std::string encrypted(std::string_view said) {
  return said.size() == 8 ? "S" : "";
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before all threads
  [[maybe_unused]] static const bool in_german =
      ::setenv("LANGUAGE", "de", 1) == 0 && std::setlocale(LC_ALL, "C.UTF-8") != nullptr;
  fuzz::byte_reader input(std::span(data, size));
  if (input.below(4) == 0) {
    static const parrot server(&repeated);
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
  std::string conninfo = text_of(input, 24);
  if (const std::size_t answer = input.below(3); answer != 0) {
    static const std::array servers{parrot(&refused), parrot(&encrypted)};
    conninfo +=
        " host=127.0.0.1 hostaddr=127.0.0.1 port=" + std::to_string(servers.at(answer - 1).port());
  }
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
