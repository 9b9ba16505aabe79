// Uses the installed target lido::asio.
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <lido/asio.hpp>

namespace {

struct zeros {
  [[nodiscard]] int create() const { return 0; }
};

}  // namespace

int main() {
  lido::resource_pool<int> pool(zeros{}, {.max_size = 1});
  return *lido::async_acquire(pool, std::chrono::seconds(10), boost::asio::use_future).get();
}
