// Uses the installed target lido::standalone_asio.
#include <asio/use_future.hpp>
#include <lido/asio.hpp>

int main() {
  lido::resource_pool<int> pool([](const lido::create_context&) { return 0; }, {.max_size = 1});
  return *lido::async_acquire(pool, std::chrono::seconds(10), asio::use_future).get();
}
