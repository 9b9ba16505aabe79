/// Starts a server, runs a command with the server's address as its last argument, ends the server.
/// Usage: with_server SERVER COMMAND...    a server of those below
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "servers/known_servers.hpp"
#include "servers/redis_groups.hpp"

namespace {

using words = std::vector<std::string>;

/// Returns the command's exit status. Does not run it as the servers' user, which may not own
/// programs just built.
int run(words command) {
  std::vector<char*> arguments;
  std::transform(command.begin(), command.end(), std::back_inserter(arguments),
                 [](std::string& word) { return word.data(); });
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(arguments.front(), arguments.data());
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) {
    throw std::runtime_error("cannot run " + command.front());
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int run_with(words command, const words& address) {
  command.insert(command.end(), address.begin(), address.end());
  return run(std::move(command));
}

/// Runs the command beside a server with TLS.
int run_beside_tls(const std::string& server, const words& command) {
  const servers::certificates tls;
  if (server == "postgres_tls") {
    const servers::postgres postgres(&tls);
    return run_with(command, {postgres.conninfo() + " host=localhost", tls.authority()});
  }
  if (server == "open_redis_tls") {
    const servers::redis redis(tls, "requirepass \"\"\n");
    return run_with(command, {std::to_string(redis.port()), tls.authority()});
  }
  const servers::redis redis(tls);
  const servers::tls_proxy proxy(redis.port(), tls.authority());
  return run_with(command, {proxy.path(), servers::password});
}

/// Throws std::runtime_error that names a program that is not installed.
int run_beside(const std::string& server, const words& command) {
  if (server == "redis") {
    const servers::redis redis;
    return run_with(command, {std::to_string(redis.port()), servers::password});
  }
  if (server == "redis_cluster") {
    const servers::redis_cluster cluster;
    return run_with(command, {std::to_string(cluster.port()), servers::password});
  }
  if (server == "redis_sentinels") {
    const servers::redis_sentinels group;
    words address{servers::password};
    for (const int port : group.ports()) {
      address.push_back(std::to_string(port));
    }
    return run_with(command, address);
  }
  if (server == "prometheus") {
    const servers::prometheus prometheus;
    return run_with(command,
                    {std::to_string(prometheus.scraped_port()), std::to_string(prometheus.port())});
  }
  if (server.ends_with("_tls")) {
    return run_beside_tls(server, command);
  }
  const servers::postgres postgres;
  if (server == "postgres") {
    return run_with(command, {postgres.conninfo()});
  }
  // The server accepts fewer connections than its clients have to PgBouncer.
  const servers::pgbouncer bouncer(postgres, 2);
  return run_with(command, {bouncer.conninfo()});
}

}  // namespace

int main(int argc, char** argv) try {
  const words arguments(argv, argv + argc);
  if (arguments.size() < 3) {
    throw std::runtime_error("usage: with_server SERVER COMMAND...");
  }
  return run_beside(arguments[1], {arguments.begin() + 2, arguments.end()});
} catch (const std::exception& problem) {
  (void)std::fprintf(stderr, "with_server: %s\n", problem.what());
  return 1;
}
