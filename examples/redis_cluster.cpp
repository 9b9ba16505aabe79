// Commands to a Redis Cluster, each to the node that has its key.
// Usage: redis_cluster PORT PASSWORD, with the port of any node
#include "redis_cluster.hpp"

#include <exception>
#include <future>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

long sum_up(cluster_client& client) {
  long sum = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string key = "visits:" + std::to_string(i);
    sum += std::stol(client.ask(key, {"GET", key}).text);
  }
  return sum;
}

void count(cluster_client& client) {
  for (int i = 0; i < 100; ++i) {
    const std::string key = "visits:" + std::to_string(i);
    client.ask(key, {"INCR", key});
  }
}

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv, argv + argc);
  int port = 0;
  if (argc != 3 || !(std::istringstream(arguments[1]) >> port) || port < 1 || port > 65535) {
    std::cerr << "usage: redis_cluster PORT PASSWORD\n";
    return 2;
  }
  cluster_client client("127.0.0.1:" + arguments[1], arguments[2]);
  std::vector<std::future<void>> threads(4);
  for (std::future<void>& thread : threads) {
    thread = std::async(std::launch::async, [&client] { count(client); });
  }
  for (std::future<void>& thread : threads) {
    thread.get();  // rethrows the thread's error
  }
  std::cout << sum_up(client) << " visits on " << client.masters().size() << " nodes\n";
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   400 visits on 3 nodes
