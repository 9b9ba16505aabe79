// Connections to the master that the sentinels of Redis name.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <lido/hiredis.hpp>
#include <lido/resource_pool.hpp>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

struct sentinel_target {
  std::vector<lido::redis_target> sentinels;
  std::string name;           // the master's name for the sentinels
  lido::redis_target master;  // all but host and port
};

// [snippet]
class sentinel_factory {
 public:
  explicit sentinel_factory(sentinel_target target)
      : target_(std::move(target)), any_master_(target_.master) {}

  /// Asks one sentinel after the other. Returns the host and the port, a line each, as the first
  /// one says that knows them. Throws std::runtime_error if none does.
  [[nodiscard]] std::string where_is_master(const lido::create_context& context) const {
    for (const lido::redis_target& one : target_.sentinels) {
      try {
        return ask(one, context);
      } catch (const std::runtime_error&) {  // the next one, then
      }
    }
    throw std::runtime_error("no sentinel knows " + target_.name);
  }

  [[nodiscard]] lido::redis_connection create(const lido::create_context& context) const {
    const std::string address = where_is_master(context);
    lido::redis_target target = target_.master;
    target.host = address.substr(0, address.find('\n'));
    target.port = std::stoi(address.substr(target.host.size() + 1));
    lido::redis_connection made = lido::redis_factory(target).create(context);
    if (made.ask("ROLE").text.rfind("master", 0) != 0) {  // the sentinels do not know yet
      throw std::runtime_error(target.host + " is a replica");
    }
    return made;
  }
  bool validate(lido::redis_connection& idle, const lido::create_context& context) const {
    return any_master_.validate(idle, context);
  }
  bool reset(lido::redis_connection& used) const { return any_master_.reset(used); }

 private:
  [[nodiscard]] std::string ask(const lido::redis_target& sentinel,
                                const lido::create_context& context) const {
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    const lido::redis_answer answer =
        lido::redis_factory(sentinel)
            .create({(std::min)(soon, context.deadline), context.stop})
            .ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", target_.name});
    if (answer.is_error || answer.is_nil) {
      throw std::runtime_error("no master");
    }
    return answer.text;
  }

  sentinel_target target_;
  lido::redis_factory any_master_;
};

/// Asks the sentinels five times a second, and flushes the pool when they name another master.
class master_watch {
 public:
  master_watch(lido::resource_pool<lido::redis_connection>& pool, const sentinel_factory& factory)
      : thread_([&pool, factory](const std::stop_token& end) { watch(pool, factory, end); }) {}

 private:
  static void watch(lido::resource_pool<lido::redis_connection>& pool,
                    const sentinel_factory& factory, const std::stop_token& end) {
    for (std::string last; !end.stop_requested();) {
      const std::string now = ask(factory, end);
      if (!last.empty() && !now.empty() && now != last) {
        pool.flush();
      }
      last = now.empty() ? last : now;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
  static std::string ask(const sentinel_factory& factory, const std::stop_token& end) try {
    return factory.where_is_master(
        {std::chrono::steady_clock::now() + std::chrono::seconds(1), end});
  } catch (const std::runtime_error&) {
    return {};
  }

  std::jthread thread_;
};
// [/snippet]
