#include "options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

namespace gateway {

options parse(int argc, char** argv) {
  options chosen;
  CLI::App app{"A gateway whose requests each borrow a backend connection"};
  bool is_redis = false;
  bool is_postgres = false;
  app.add_flag("--redis", is_redis, "in front of a Redis, started for this");
  app.add_flag("--postgres", is_postgres, "in front of a PostgreSQL, started for this")
      ->excludes("--redis");
  app.add_option("--clients", chosen.clients, "which ask all the time")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  app.add_option("--connections", chosen.connections, "to the backend, and threads")
      ->check(CLI::Range(2U, 50U))
      ->capture_default_str();
  app.add_option("--rounds", chosen.rounds, "of all ways in turn; the median counts")
      ->check(CLI::Range(1U, 999U))
      ->capture_default_str();
  app.add_option("--ways", chosen.ways,
                 "to come by a connection; the first ones, 2 for pool and owners")
      ->check(CLI::Range(2U, 6U))
      ->capture_default_str();
  app.add_option("--seconds", chosen.seconds, "for each way in each round")
      ->check(CLI::Range(0.05, 600.0))
      ->capture_default_str();
  app.add_flag("--brief", chosen.brief, "a sentence for each way instead of a table");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));  // NOLINT(concurrency-mt-unsafe): no other thread yet
  }
  if (is_redis) {
    chosen.backend = "redis";
  } else if (is_postgres) {
    chosen.backend = "postgres";
  }
  return chosen;
}

}  // namespace gateway
