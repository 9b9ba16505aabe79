#include "known_servers.hpp"

#include <csignal>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace servers {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::chrono::seconds patience = 60s;
constexpr const char* redis_is_ready = "Ready to accept connections";
constexpr const char* sentinel_is_ready = "Sentinel ID is";
constexpr const char* pgbouncer_is_ready = "process up";
constexpr const char* postgres_is_ready = "database system is ready to accept connections";

std::string need(const std::string& name) {
  const auto found = find_program(name);
  if (!found) {
    throw std::runtime_error(name + " is not installed");
  }
  return *found;
}

/// Returns the text from that offset on.
std::string text_of(const fs::path& log, std::uintmax_t from) {
  std::ifstream file(log);
  file.seekg(static_cast<std::streamoff>(from));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Returns true once the server reports `ready`, or false if another process has its port. Reads
/// the server's log, because at the port that other process may answer. Throws if the log has
/// neither.
bool comes_up(server_process& process, const fs::path& log, std::uintmax_t from,
              const std::string& ready) {
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const bool has_ended = process.has_ended();  // before its last lines are read
    const std::string said = text_of(log, from);
    if (said.find("ddress already in use") != std::string::npos) {
      return false;  // PgBouncer continues without it
    }
    if (has_ended || std::chrono::steady_clock::now() > end) {
      throw std::runtime_error("the server does not come up: " + said);
    }
    if (said.find(ready) != std::string::npos) {
      return true;
    }
    std::this_thread::sleep_for(10ms);
  }
}

/// Starts the server, again while another process has its port. `command` may choose another port
/// each time.
template <class Command>
void start(std::optional<server_process>& process, const temporary_folder& folder,
           const std::string& ready, const Command& command) {
  constexpr int tries = 10;
  const fs::path log = folder.path() / "log";
  for (int i = 0; i < tries; ++i) {
    process.reset();
    const std::vector<std::string> words = command();
    std::error_code absent;
    const std::uintmax_t size = fs::file_size(log, absent);
    const std::uintmax_t from = absent ? 0 : size;
    process.emplace(words, log);
    if (comes_up(*process, log, from, ready)) {
      return;
    }
    std::this_thread::sleep_for(100ms);
  }
  throw std::runtime_error("the port of " + command().front() + " is always taken");
}

std::string conninfo_of(int port, const std::string& secret) {
  return "host=127.0.0.1 port=" + std::to_string(port) + " user=lido dbname=lido password='" +
         secret + "'";
}

}  // namespace

redis::redis(role as, std::string settings) : role_(as), settings_(std::move(settings)) {
  start(process_, folder_, as == role::sentinel ? sentinel_is_ready : redis_is_ready, [this] {
    port_ = free_port();
    bus_port_ = free_port();
    return command();
  });
}

redis::redis(const certificates& tls, std::string settings)
    : role_(role::server),
      settings_("tls-cert-file " + tls.certificate() + "\ntls-key-file " + tls.key() +
                "\ntls-ca-cert-file " + tls.authority() + "\ntls-auth-clients no\n" +
                std::move(settings)),
      is_encrypted_(true) {
  start(process_, folder_, redis_is_ready, [this] {
    port_ = free_port();
    return command();
  });
}

void redis::restart() {
  start(process_, folder_, redis_is_ready, [this] { return command(); });
}

std::string redis::settings_of_role() const {
  if (role_ == role::sentinel) {
    return std::string("sentinel sentinel-pass \"") + password + "\"\n";
  }
  const std::string stored = std::string("save \"\"\nappendonly no\nrepl-diskless-sync-delay 0\n") +
                             "masterauth \"" + password + "\"\n";
  return role_ == role::server
             ? stored
             : stored + "cluster-enabled yes\ncluster-node-timeout 1000\ncluster-port " +
                   std::to_string(bus_port_) + "\n";
}

std::vector<std::string> redis::command() const {
  const fs::path config = folder_.write(
      "redis.conf", (is_encrypted_ ? "port 0\ntls-port " : "port ") + std::to_string(port_) +
                        "\nbind 127.0.0.1 127.0.0.2\nrequirepass \"" + password + "\"\ndir " +
                        folder_.path().string() + "\n" + settings_of_role() + settings_);
  std::vector<std::string> words{need("redis-server"), config.string()};
  if (role_ == role::sentinel) {
    words.emplace_back("--sentinel");
  }
  return words;
}

postgres::postgres(const certificates* tls) {
  const fs::path secret = folder_.write("secret", std::string(password) + "\n");
  run_program(
      {need("initdb"), "-D", (folder_.path() / "data").string(), "-U", "lido", "-A",
       "scram-sha-256", "--pwfile", secret.string(), "--no-sync", "-E", "UTF8", "--locale", "C"},
      folder_.path() / "log");
  if (tls != nullptr) {
    settings_ = {"-c", "ssl=on",
                 "-c", "ssl_cert_file=" + tls->certificate(),
                 "-c", "ssl_key_file=" + tls->key()};
    (void)folder_.write("data/pg_hba.conf",
                        "local all all scram-sha-256\nhostssl all all 127.0.0.0/8 scram-sha-256\n");
  }
  start(process_, folder_, postgres_is_ready, [this] {
    port_ = free_port();
    return command();
  });
  run_program({"env", std::string("PGPASSWORD=") + password, need("createdb"), "-h",
               folder_.path().string(), "-p", std::to_string(port_), "-U", "lido", "lido"},
              folder_.path() / "log");
}

void postgres::restart() {
  if (process_) {
    process_->end(SIGINT);  // "fast"; SIGTERM would wait for all clients
  }
  start(process_, folder_, postgres_is_ready, [this] { return command(); });
}

std::vector<std::string> postgres::command() const {
  const std::string folder = folder_.path().string();
  std::vector<std::string> words{need("postgres"),
                                 "-D",
                                 folder + "/data",
                                 "-p",
                                 std::to_string(port_),
                                 "-h",
                                 "127.0.0.1,127.0.0.2",
                                 "-k",
                                 folder,
                                 "-c",
                                 "fsync=off",
                                 "-c",
                                 "max_connections=60",
                                 "-c",
                                 "shared_buffers=16MB"};
  words.insert(words.end(), settings_.begin(), settings_.end());
  return words;
}

std::string postgres::conninfo(const std::string& secret) const {
  return conninfo_of(port_, secret);
}

pgbouncer::pgbouncer(const postgres& server, int connections, const std::string& auth_type,
                     const std::string& settings) {
  const std::string folder = folder_.path().string();
  const fs::path users = folder_.write("users.txt", std::string(R"("lido" ")") + password + "\"\n");
  settings_ = "[databases]\nlido = host=127.0.0.1 port=" + std::to_string(server.port()) +
              " dbname=lido\n[pgbouncer]\nlisten_addr = 127.0.0.1\nauth_type = " + auth_type +
              "\nauth_file = " + users.string() +
              "\npool_mode = transaction\nunix_socket_dir = " + folder +
              "\ndefault_pool_size = " + std::to_string(connections) + "\n" + settings;
  start(process_, folder_, pgbouncer_is_ready, [this] {
    port_ = free_port();
    return command();
  });
}

void pgbouncer::restart() {
  start(process_, folder_, pgbouncer_is_ready, [this] { return command(); });
}

std::vector<std::string> pgbouncer::command() const {
  const fs::path config =
      folder_.write("pgbouncer.ini", settings_ + "listen_port = " + std::to_string(port_) + "\n");
  return {need("pgbouncer"), config.string()};
}

std::string pgbouncer::conninfo() const {
  return conninfo_of(port_, password);
}

tls_proxy::tls_proxy(int port, const std::string& authority, const std::string& name) {
  start(process_, folder_, "Configuration successful", [&] {
    const fs::path config = folder_.write(
        "stunnel.conf", "foreground = yes\npid =\n[redis]\nclient = yes\naccept = " + path() +
                            "\nconnect = localhost:" + std::to_string(port) + "\nCAfile = " +
                            authority + "\nverifyChain = yes\ncheckHost = " + name + "\n");
    return std::vector<std::string>{need("stunnel4"), config.string()};
  });
}

prometheus::prometheus() {
  start(process_, folder_, "ready to receive web requests", [this] {
    scraped_port_ = free_port();
    port_ = free_port();
    const fs::path config = folder_.write(
        "prometheus.yml",
        "global: {scrape_interval: 200ms}\nscrape_configs: [{job_name: lido, static_configs: "
        "[{targets: [\"127.0.0.1:" +
            std::to_string(scraped_port_) + "\"]}]}]\n");
    return std::vector<std::string>{need("prometheus"), "--config.file=" + config.string(),
                                    "--storage.tsdb.path=" + (folder_.path() / "data").string(),
                                    "--web.listen-address=127.0.0.1:" + std::to_string(port_)};
  });
}

}  // namespace servers
