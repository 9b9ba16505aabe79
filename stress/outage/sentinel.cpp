/// Tries to break: clients of a Redis with sentinels see errors only for commands under way when
/// the master changes. Connections to the old one are soon gone.
///
/// Factory and watch are those of examples/redis_sentinel.hpp.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "clients.hpp"
#include "harness/driver.hpp"
#include "harness/report.hpp"
#include "redis_sentinel.hpp"
#include "servers/redis_groups.hpp"

namespace {

using namespace std::chrono_literals;
using outage::clock;
using outage::ms;
using outage::seen;

struct sentinel_driver : stress::driver {
  sentinel_driver() : driver("sentinel", 8) {}

  void prepare(stress::run& run) override {
    if (!servers::redis::program()) {
      run.vacuous("Redis is not installed");
    }
    group_.emplace();
    sentinel_target target{.sentinels = {},
                           .name = servers::redis_sentinels::name,
                           .master = {.password = servers::password, .command_timeout = 1s}};
    for (const int port : group_->ports()) {
      target.sentinels.push_back({.port = port, .password = servers::password});
    }
    factory_.emplace(target);
    pool_.emplace(*factory_, lido::resource_pool_options{.max_size = 8, .name = "orders"});
    watch_.emplace(*pool_, *factory_);
  }

  void load(stress::run& run) override {
    const outage::counting_clients clients(threads(), all_, [this](const std::string& key) {
      const lido::redis_answer answer = pool_->acquire()->ask({"INCR", key});
      if (answer.is_error) {
        throw std::runtime_error(answer.text);
      }
      return std::stoull(answer.text);
    });
    std::this_thread::sleep_for(500ms);
    (void)all_.take();
    const std::string first = master();
    (void)servers::ask_redis(group_->ports()[0],
                             {"SENTINEL", "FAILOVER", servers::redis_sentinels::name});
    judge(run, "planned", first);
    // By now the old master has become a replica, and the sentinels have seen it.
    std::this_thread::sleep_for(3s);
    const std::string second = master();
    kill(second);
    judge(run, "master_killed", second);
    run.add_operations(served_);
  }

 private:
  [[nodiscard]] std::string master() const {
    return factory_->where_is_master({clock::now() + 5s, {}});
  }
  [[nodiscard]] static int port_of(const std::string& address) {
    return std::stoi(address.substr(address.find('\n') + 1));
  }
  void kill(const std::string& address) {
    for (servers::redis& node : group_->nodes()) {
      if (node.port() == port_of(address)) {
        node.process().end(SIGKILL);
      }
    }
  }

  void judge(stress::run& run, std::string_view what, const std::string& old) {
    const clock::duration replaced = outage::time_until(30s, [&] { return master() != old; });
    const clock::duration gone =
        outage::time_until(10s, [&] { return outage::connections_to(port_of(old)) == 0; });
    std::this_thread::sleep_for(2s);  // for late errors
    const seen now = all_.take();
    served_ += now.served;
    stress::figures(what)
        .add("served", now.served)
        .add("errors", now.errors)
        .add("lost", std::max(std::int64_t{0}, now.lost))
        .add("errors_lasted_ms", ms(now.errors_lasted()))
        .add("longest_ms", ms(now.longest))
        .add("replaced_ms", ms(replaced))
        .add("gone_ms", ms(gone))
        .print();
    if (replaced >= 30s || gone >= 1s) {
      run.broken("connections to the old master stay");
    }
    if (now.errors > std::uint64_t{2} * threads() || now.served == 0) {
      run.broken(std::to_string(now.errors) + " errors: " + now.text);
    }
  }
  std::optional<servers::redis_sentinels> group_;
  std::optional<sentinel_factory> factory_;
  std::optional<lido::resource_pool<lido::redis_connection>> pool_;
  std::optional<master_watch> watch_;
  outage::record all_;
  std::uint64_t served_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return sentinel_driver().drive(argc, argv);
}
