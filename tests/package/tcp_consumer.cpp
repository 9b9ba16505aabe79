// Uses the installed target lido::tcp.
#include <lido/tcp.hpp>

int main() {
  boost::asio::io_context context;
  const lido::tcp_factory factory(context.get_executor(), {.host = "127.0.0.1", .port = "1"});
  lido::resource_pool<lido::tcp_factory::socket> pool(factory, {.max_size = 1});
  return static_cast<int>(pool.stats().live);
}
