/// A gateway in front of a server, with many more clients than connections, which shows the benefit
/// of a pool of connections. Fails if an answer is wrong or missing.
///
/// Every way answers the same clients in the same number of threads, in several rounds, each in
/// random order.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends.hpp"
#include "lenders.hpp"
#include "load.hpp"
#include "options.hpp"
#include "server.hpp"

namespace {

using gateway::load_result;
using gateway::options;

constexpr std::chrono::milliseconds warm_up(200);
constexpr const char* awaiting = "lido::async_try_acquire";
constexpr const char* connecting = "a connect for each request";

struct way {
  std::string name;
  std::string sentence;  // with a placeholder for its share of the first one's throughput
  std::function<load_result()> run;
  std::vector<load_result> results;

  [[nodiscard]] load_result median() const {
    std::vector<load_result> sorted = results;
    std::sort(sorted.begin(), sorted.end(), [](const load_result& left, const load_result& right) {
      return left.per_second < right.per_second;
    });
    return sorted.at(sorted.size() / 2);
  }
};

template <class Lender, class F>
std::string answer_of(Lender& lender, const F& ask) try {
  return lender.with(ask);
} catch (const std::exception& problem) {
  return std::string("ERROR ") + problem.what();
}

template <template <class> class Lender, class Backend>
load_result run_once(Backend& backend, const options& chosen, unsigned connections) {
  Lender<Backend> lender(backend, connections);
  // After the lender: leases in the context of the server must go back to a pool that is alive.
  gateway::server server(chosen.connections,
                         [&lender](boost::asio::io_context& context, const std::string& question,
                                   gateway::server::reply reply) {
                           const auto ask = [question](typename Backend::connection& to) {
                             return Backend::ask(to, question);
                           };
                           if constexpr (gateway::hands_on<Lender<Backend>>) {
                             lender.with(context, ask, std::move(reply));
                           } else {
                             reply(answer_of(lender, ask));
                           }
                         });
  const auto time = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(chosen.seconds));
  load_result result = gateway::put_load_on(server.port(), chosen.clients, warm_up, time);
  if constexpr (gateway::hands_on<Lender<Backend>>) {
    result.waits = lender.waits();
  }
  return result;
}

struct part {
  double median;
  double low;  // bounds, with `high`, for the median of ever more rounds, 95 % sure
  double high;
};

/// Returns the throughput as a share of the first way's in the same round, since the rounds of a
/// busy machine differ. `low` and `high` come from the order of the rounds alone (the sign test),
/// so they hold however the rounds scatter. With fewer than six rounds they are the least and the
/// greatest, which are weaker bounds.
part part_of(const way& one, const way& first) {
  std::vector<double> parts;
  for (std::size_t round = 0; round < one.results.size(); ++round) {
    parts.push_back(one.results.at(round).per_second /
                    std::max(first.results.at(round).per_second, 1.0));
  }
  std::sort(parts.begin(), parts.end());
  const auto count = static_cast<double>(parts.size());
  const double outside = std::max(std::floor((count - 1 - 1.96 * std::sqrt(count)) / 2), 0.0);
  const auto low = static_cast<std::size_t>(outside);
  return {parts.at(parts.size() / 2), parts.at(low), parts.at(parts.size() - 1 - low)};
}

void print(const std::vector<way>& ways) {
  fmt::print("{:<36} {:>12} {:>9} {:>16} {:>10} {:>10}\n", "", "requests/s", "of first",
             "95 % sure", "median us", "p99 us");
  for (const way& one : ways) {
    const load_result result = one.median();
    const part found = part_of(one, ways.front());
    fmt::print("{:<36} {:>12.0f} {:>8.1f}% {:>6.1f} to {:>5.1f}% {:>10} {:>10}\n", one.name,
               result.per_second, 100 * found.median, 100 * found.low, 100 * found.high,
               result.median.count(), result.p99.count());
  }
}

void print_sentences(const std::vector<way>& ways) {
  for (const way& one : ways) {
    const double requests = one.median().per_second;
    const std::string share = fmt::format("{:.0f} %", 100 * part_of(one, ways.front()).median);
    fmt::print(fmt::runtime("  " + one.sentence + "\n"),
               fmt::arg("requests", std::lround(requests)), fmt::arg("share", share));
  }
}

/// Prints what went wrong in a round; returns true if nothing did.
bool is_well(const way& one, const load_result& result) {
  const bool well = result.wrong == 0 && result.lost == 0;
  if (!well) {
    fmt::print(stderr, "gateway: {}: {} answers wrong, {} clients lost; {}\n", one.name,
               result.wrong, result.lost, result.wrong_answer);
  }
  return well;
}

/// Returns whether all ways served all clients well, and requests waited where they could. One
/// round alone may be too short for an answer if each takes a new connection.
bool all_is_well(const std::vector<way>& ways, const options& chosen) {
  bool well = true;
  for (const way& one : ways) {
    std::uint64_t served = 0;
    std::uint64_t waits = 0;
    for (const load_result& result : one.results) {
      well = is_well(one, result) && well;
      served += result.served;
      waits += result.waits;
    }
    const bool must_wait = one.name == awaiting && chosen.clients > chosen.connections;
    if (served == 0 || (must_wait && waits == 0)) {
      fmt::print(stderr, "gateway: {}: {} answers, {} waits\n", one.name, served, waits);
      well = false;
    }
  }
  return well;
}

template <class Backend>
std::vector<way> ways_to(Backend& backend, const options& chosen) {
  const unsigned all = chosen.connections;
  const auto lent_by = [&backend, &chosen](auto run, unsigned connections) {
    return [&backend, &chosen, run, connections] { return run(backend, chosen, connections); };
  };
  return {{"each thread owns a connection",
           "A connection for each thread, never shared: {requests} requests a second.",
           lent_by(run_once<gateway::owned, Backend>, all),
           {}},
          {"lido::resource_pool",
           "A lido::resource_pool of as many connections: {share} of that.",
           lent_by(run_once<gateway::pooled, Backend>, all),
           {}},
          {awaiting,
           "The same pool where requests wait without a thread (lido::async_try_acquire): {share}.",
           lent_by(run_once<gateway::awaited, Backend>, all),
           {}},
          {"lido::resource_pool, half of them",
           "The pool with half the connections: {share}.",
           lent_by(run_once<gateway::pooled, Backend>, all / 2),
           {}},
          {"mutex + deque, no checks",
           "A mutex and a deque, without checks, time limits or renewal: {share}.",
           lent_by(run_once<gateway::mutex_and_deque, Backend>, all),
           {}},
          {connecting,
           "A new connection for each request, as without a pool: {share}.",
           lent_by(run_once<gateway::connected_each_time, Backend>, all),
           {}}};
}

/// Returns whether all went well.
template <class Backend>
bool compare(const options& chosen) {
  Backend backend;
  std::vector<way> ways = ways_to(backend, chosen);
  ways.resize(std::min<std::size_t>(chosen.ways, ways.size()));
  std::vector<std::size_t> order(ways.size());
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 lots(std::random_device{}());
  for (unsigned round = 0; round < chosen.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), lots);  // so that none always follows the same one
    for (const std::size_t next : order) {
      ways.at(next).results.push_back(ways.at(next).run());
    }
  }
  if (chosen.brief) {
    print_sentences(ways);
    return all_is_well(ways, chosen);
  }
  print(ways);
  if (ways.back().name == connecting) {
    fmt::print("the pool does {:.1f} x what a connect for each request does\n",
               part_of(ways.at(1), ways.back()).median);
  }
  return all_is_well(ways, chosen);
}

bool compare_on(const options& chosen) {
#ifdef LIDO_GATEWAY_REDIS
  if (chosen.backend == "redis") {
    return compare<gateway::redis_backend>(chosen);
  }
#endif
#ifdef LIDO_GATEWAY_POSTGRES
  if (chosen.backend == "postgres") {
    return compare<gateway::postgres_backend>(chosen);
  }
#endif
  if (chosen.backend != "echo") {
    throw std::runtime_error("this build has no client for " + chosen.backend);
  }
  return compare<gateway::echo_backend>(chosen);
}

}  // namespace

int main(int argc, char** argv) try {
  const options chosen = gateway::parse(argc, argv);
  fmt::print("gateway: {} clients, {} threads, {} connections to {}\n", chosen.clients,
             chosen.connections, chosen.connections, chosen.backend);
  (void)std::fflush(stdout);
  const bool well = compare_on(chosen);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw std::runtime_error("not all could be printed");
  }
  return well ? 0 : 1;
} catch (const std::exception& problem) {
  (void)std::fprintf(stderr, "gateway: %s\n", problem.what());
  return 1;
}
