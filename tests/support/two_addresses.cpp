#include "support/two_addresses.hpp"

#include <dlfcn.h>
#include <netdb.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <thread>

namespace lido::test {

namespace {

std::atomic<const char*> first_of_two{nullptr};
std::atomic<bool> hangs{false};
std::atomic<int> hanging{0};

}  // namespace

two_addresses::two_addresses(const char* first) noexcept {
  first_of_two = first;
}

two_addresses::~two_addresses() {
  first_of_two = nullptr;
}

hanging_name::hanging_name() noexcept {
  hangs = true;
}

hanging_name::~hanging_name() {
  hangs = false;
  while (hanging != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace lido::test

namespace {

int look_up(const char* host, const char* service, const addrinfo* wanted, addrinfo** found) {
  // NOLINTNEXTLINE(*-reinterpret-cast): the interface of the system
  static const auto real =
      reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(host, service, wanted, found);
}

}  // namespace

// Replaces the C library's function for the whole program.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the library's are reserved
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* wanted,
                           addrinfo** found) {
  const std::string_view name = host == nullptr ? "" : host;
  if ((wanted->ai_flags & AI_NUMERICHOST) == 0 && name == lido::test::hanging_name::text) {
    ++lido::test::hanging;
    while (lido::test::hangs) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    --lido::test::hanging;
  }
  const char* const first = lido::test::first_of_two;
  if (first == nullptr || (wanted->ai_flags & AI_NUMERICHOST) != 0 ||
      name != lido::test::two_addresses_name) {
    return look_up(host, service, wanted, found);
  }
  std::string all = std::string(first) + ",127.0.0.1";
  int failed = 0;
  addrinfo** last = found;
  for (std::size_t begin = 0; failed == 0 && begin < all.size();) {  // nodes are freed one by one
    const std::size_t end = std::min(all.find(',', begin), all.size());
    failed = look_up(all.substr(begin, end - begin).c_str(), service, wanted, last);
    begin = end + 1;
    while (failed == 0 && *last != nullptr) {
      last = &(*last)->ai_next;
    }
  }
  return failed;
}
