// A burst of packets at once: as many as there are, all or none, with leases, and released as a
// list.
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <lido/object_pool.hpp>
#include <lido/shared_lease.hpp>
#include <memory>
#include <span>
#include <utility>
#include <vector>

struct packet {
  std::array<std::uint8_t, 2048> bytes;
  std::size_t length;
};

int main() try {
  // [snippet]
  lido::object_pool<packet> packets{{.capacity = 64, .name = "packets"}};

  std::array<packet*, 32> burst{};  // default_init: the bytes are not cleared
  const std::size_t received = packets.try_acquire_n(burst, lido::default_init);
  packets.release_n(std::span(burst).first(received));

  std::vector<lido::lease<packet>> fragments(40);  // all fragments of a datagram, or none
  const bool first = packets.try_acquire_all(fragments, lido::default_init);
  std::array<packet*, 40> others{};
  const bool second = packets.try_acquire_all(others, lido::default_init);
  std::cout << "received " << received << ", first " << first << ", second " << second << '\n';

  // Several queues send the last fragment; it is released after the last of them.
  std::shared_ptr<const packet> sent = lido::share(std::move(fragments.back()));
  fragments.clear();
  // [/snippet]
  std::cout << "in use: " << packets.stats().in_use << '\n';
  sent.reset();
  std::cout << "in use: " << packets.stats().in_use << '\n';
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}

// Prints:
//   received 32, first 1, second 0
//   in use: 1
//   in use: 0
