#include "support/customers.hpp"

namespace lido::test {

detached await_resource(fake_pool& pool, std::chrono::seconds patience,
                        std::function<void(fake_lease)> serve) {
  serve(co_await pool.co_acquire(patience));
}

}  // namespace lido::test
