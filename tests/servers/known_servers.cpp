#include "known_servers.hpp"

#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace servers {

namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::chrono::seconds patience = 30s;

std::string need(const std::string& name) {
  const auto found = find_program(name);
  if (!found) {
    throw std::runtime_error(name + " is not installed");
  }
  return *found;
}

void await(int port, const fs::path& log) {
  if (!accepts(port, patience)) {
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    throw std::runtime_error("the server does not come up: " + text.str());
  }
}

std::string conninfo_of(int port, const std::string& secret) {
  return "host=127.0.0.1 port=" + std::to_string(port) + " user=lido dbname=lido password='" +
         secret + "'";
}

}  // namespace

redis::redis() {
  restart();
}

void redis::restart() {
  process_.reset();
  const fs::path config = folder_.write(
      "redis.conf", "port " + std::to_string(port_) + "\nbind 127.0.0.1\nsave \"\"\n" +
                        "appendonly no\nrequirepass \"" + password + "\"\ndir " +
                        folder_.path().string() + "\n");
  process_.emplace(std::vector<std::string>{need("redis-server"), config.string()},
                   folder_.path() / "log");
  await(port_, folder_.path() / "log");
}

postgres::postgres() {
  const fs::path secret = folder_.write("secret", std::string(password) + "\n");
  run_program(
      {need("initdb"), "-D", (folder_.path() / "data").string(), "-U", "lido", "-A",
       "scram-sha-256", "--pwfile", secret.string(), "--no-sync", "-E", "UTF8", "--locale", "C"},
      folder_.path() / "log");
  restart();
  run_program({"env", std::string("PGPASSWORD=") + password, need("createdb"), "-h", "127.0.0.1",
               "-p", std::to_string(port_), "-U", "lido", "lido"},
              folder_.path() / "log");
}

void postgres::restart() {
  if (process_) {
    process_->end(SIGINT);  // "fast"; SIGTERM would wait for all clients
  }
  const std::string folder = folder_.path().string();
  process_.emplace(std::vector<std::string>{need("postgres"), "-D", folder + "/data", "-p",
                                            std::to_string(port_), "-h", "127.0.0.1", "-k", folder,
                                            "-c", "fsync=off", "-c", "max_connections=60", "-c",
                                            "shared_buffers=16MB"},
                   folder_.path() / "log");
  await(port_, folder_.path() / "log");
  // It accepts before it answers: until it has started, that is a refusal.
  const std::vector<std::string> ask{need("pg_isready"),    "-q", "-h", "127.0.0.1", "-p",
                                     std::to_string(port_), "-t", "20"};
  const auto end = std::chrono::steady_clock::now() + patience;
  for (bool is_ready = false; !is_ready;) {
    try {
      run_program(ask, folder_.path() / "log");
      is_ready = true;
    } catch (const std::runtime_error&) {
      if (std::chrono::steady_clock::now() > end) {
        throw;
      }
      std::this_thread::sleep_for(10ms);
    }
  }
}

std::string postgres::conninfo(const std::string& secret) const {
  return conninfo_of(port_, secret);
}

pgbouncer::pgbouncer(const postgres& server, int connections) {
  const std::string folder = folder_.path().string();
  const fs::path users = folder_.write("users.txt", std::string("\"lido\" \"") + password + "\"\n");
  const fs::path config = folder_.write(
      "pgbouncer.ini", "[databases]\nlido = host=127.0.0.1 port=" + std::to_string(server.port()) +
                           " dbname=lido\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " +
                           std::to_string(port_) +
                           "\nauth_type = plain\nauth_file = " + users.string() +
                           "\npool_mode = transaction\nunix_socket_dir = " + folder +
                           "\ndefault_pool_size = " + std::to_string(connections) + "\n");
  process_.emplace(std::vector<std::string>{need("pgbouncer"), config.string()},
                   folder_.path() / "log");
  await(port_, folder_.path() / "log");
}

std::string pgbouncer::conninfo() const {
  return conninfo_of(port_, password);
}

}  // namespace servers
