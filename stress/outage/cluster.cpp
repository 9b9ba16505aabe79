/// Tries to break: clients of a Redis Cluster see no error while slots move. They see one error for
/// each command under way when a master is killed. Connections to a removed node are soon gone.
///
/// The client is that of examples/redis_cluster.hpp.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "clients.hpp"
#include "harness/driver.hpp"
#include "harness/report.hpp"
#include "redis_cluster.hpp"
#include "servers/redis_groups.hpp"

namespace {

using namespace std::chrono_literals;
using outage::clock;
using outage::ms;
using outage::seen;

/// A node that slots are moved to or from.
class node_admin {
 public:
  explicit node_admin(int port)
      : port_(port),
        connection_(lido::redis_factory({.port = port, .password = servers::password})
                        .create({clock::now() + 5s, {}})),
        id_(ask({"CLUSTER", "MYID"})) {}

  std::string ask(const std::vector<std::string_view>& command) {
    const lido::redis_answer answer = connection_.ask(command);
    if (answer.is_error) {
      throw std::runtime_error(std::string(command[0]) + ": " + answer.text);
    }
    return answer.text;
  }
  bool forgets(std::string_view id) { return !connection_.ask({"CLUSTER", "FORGET", id}).is_error; }
  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::string port() const { return std::to_string(port_); }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + port(); }
  /// Returns the number of connected clients, except this one.
  [[nodiscard]] std::ptrdiff_t clients() {
    const std::string all = ask({"CLIENT", "LIST", "TYPE", "normal"});
    return std::count(all.begin(), all.end(), '\n') - 1;
  }

 private:
  int port_;
  lido::redis_connection connection_;
  std::string id_;
};

/// Moves a slot with its keys. For a moment the new node has them, and does not own the slot yet.
void move_slot(unsigned slot, node_admin& from, node_admin& to, clock::duration moment) {
  const std::string number = std::to_string(slot);
  to.ask({"CLUSTER", "SETSLOT", number, "IMPORTING", from.id()});
  from.ask({"CLUSTER", "SETSLOT", number, "MIGRATING", to.id()});
  std::istringstream keys(from.ask({"CLUSTER", "GETKEYSINSLOT", number, "1000"}));
  for (std::string key; std::getline(keys, key);) {
    from.ask({"MIGRATE", "127.0.0.1", to.port(), key, "0", "5000", "AUTH", servers::password});
  }
  std::this_thread::sleep_for(moment);
  to.ask({"CLUSTER", "SETSLOT", number, "NODE", to.id()});
  from.ask({"CLUSTER", "SETSLOT", number, "NODE", to.id()});
}

struct cluster_driver : stress::driver {
  cluster_driver() : driver("cluster", 8) {}

  void prepare(stress::run& run) override {
    if (!servers::redis::program()) {
      run.vacuous("Redis is not installed");
    }
    cluster_.emplace();
    client_.emplace("127.0.0.1:" + std::to_string(cluster_->port()), servers::password);
  }

  void load(stress::run& run) override {
    const outage::counting_clients clients(threads(), all_, [this](const std::string& key) {
      const lido::redis_answer answer = client_->ask(key, {"INCR", key});
      if (answer.is_error) {
        throw std::runtime_error(answer.text);
      }
      return std::stoull(answer.text);
    });
    std::this_thread::sleep_for(300ms);
    try {
      move_slots(run);
      kill_master(run);
      remove_node(run);
    } catch (const std::runtime_error& problem) {
      run.vacuous(problem.what());
    }
    run.add_operations(served_);
  }

 private:
  /// Moves slots with keys in use to another node and back.
  void move_slots(stress::run& run) {
    node_admin one(cluster_->nodes()[0].port());
    node_admin other(cluster_->nodes()[1].port());
    stress::random random = run.generator(0);
    unsigned moves = 0;
    run.start();
    for (; !run.over(); ++moves) {
      const std::string key = outage::counting_clients::key(
          static_cast<unsigned>(random() % threads()),
          static_cast<unsigned>(random() % outage::counting_clients::keys_of_each));
      const unsigned slot = slot_of(key);
      const std::string owners = one.ask({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)});
      const bool is_here = std::stoul(owners) != 0;
      const std::string others = other.ask({"CLUSTER", "COUNTKEYSINSLOT", std::to_string(slot)});
      if (is_here || std::stoul(others) != 0) {
        move_slot(slot, is_here ? one : other, is_here ? other : one, 5ms);
        std::this_thread::sleep_for(20ms);
      }
    }
    wait_until_all_agree(run);
    const seen now = all_.take();
    note("slots_moved", now,
         {{"moves", moves}, {"moved", client_->moved()}, {"asked", client_->asked()}});
    if (now.errors != 0 || now.lost > 0) {
      run.broken("while slots moved: " + now.text);
    }
    if (client_->moved() == 0 || client_->asked() == 0) {
      run.vacuous("no MOVED or no ASK was seen");
    }
  }

  void wait_until_all_agree(stress::run& run) {
    const clock::duration took = outage::time_until(20s, [this] {
      std::set<std::string> opinions;
      for (const servers::redis& node : cluster_->nodes()) {
        cluster_map map;
        node_admin admin(node.port());
        const bool is_whole = map.read(admin.ask({"CLUSTER", "NODES"}), admin.address());
        std::string opinion = is_whole ? "" : "holes";
        for (const std::string& owner : map.owners) {
          opinion += owner;
        }
        opinions.insert(opinion);
      }
      return opinions.size() == 1 && !opinions.contains("holes");
    });
    if (took >= 20s) {
      run.vacuous("the nodes do not agree");
    }
  }

  void kill_master(stress::run& run) {
    const std::string dead = "127.0.0.1:" + std::to_string(cluster_->nodes()[0].port());
    cluster_->nodes()[0].process().end(SIGKILL);
    const clock::duration replaced =
        outage::time_until(30s, [&] { return !client_->masters().contains(dead); });
    const clock::duration gone = outage::time_until(
        10s, [&] { return outage::connections_to(cluster_->nodes()[0].port()) == 0; });
    std::this_thread::sleep_for(2s);  // for late errors
    const seen now = all_.take();
    note("master_killed", now, {{"replaced_ms", ms(replaced)}, {"gone_ms", ms(gone)}});
    if (replaced >= 30s || gone >= 1s) {
      run.broken("the dead master is still there");
    }
    if (now.errors > threads() || now.errors_lasted() > 1s) {
      run.broken(std::to_string(now.errors) + " errors after a master was killed: " + now.text);
    }
  }

  /// Moves the slots of a node to another one, and has all others forget it. The node lives on,
  /// alone.
  void remove_node(stress::run& run) {
    node_admin leaving(cluster_->nodes()[2].port());
    node_admin staying(cluster_->nodes()[1].port());
    cluster_map before;
    if (!before.read(staying.ask({"CLUSTER", "NODES"}), staying.address())) {
      run.vacuous("slots are nobody's");
    }
    for (unsigned slot = 0; slot < slot_count; ++slot) {
      if (before.owners[slot] == leaving.address()) {
        move_slot(slot, leaving, staying, 0ms);
      }
    }
    for (const std::string& member : before.members) {
      forget(member, leaving);
    }
    leaving.ask({"CLUSTER", "RESET"});
    const clock::duration gone = outage::time_until(10s, [&] { return leaving.clients() == 0; });
    std::this_thread::sleep_for(1s);
    const seen now = all_.take();
    note("node_removed", now, {{"gone_ms", ms(gone)}});
    if (gone >= 1s) {
      run.broken("connections to a node that left stay");
    }
    if (now.errors != 0 || now.lost > 0) {
      run.broken("while a node was removed: " + now.text);
    }
  }
  /// Has a member forget the leaving node, after its replica has become that of another one.
  static void forget(const std::string& member, const node_admin& leaving) {
    node_admin other(std::stoi(member.substr(member.find(':') + 1)));
    const bool is_itself = other.id() == leaving.id();
    (void)outage::time_until(10s, [&] { return is_itself || other.forgets(leaving.id()); });
  }

  void note(std::string_view what, const seen& now,
            const std::vector<std::pair<std::string_view, double>>& more) {
    stress::figures line(what);
    line.add("served", now.served)
        .add("errors", now.errors)
        .add("lost", std::max(std::int64_t{0}, now.lost));
    line.add("errors_lasted_ms", ms(now.errors_lasted())).add("longest_ms", ms(now.longest));
    for (const auto& [name, value] : more) {
      line.add(name, value);
    }
    line.print();
    served_ += now.served;
  }

  std::optional<servers::redis_cluster> cluster_;
  std::optional<cluster_client> client_;
  outage::record all_;
  std::uint64_t served_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return cluster_driver().drive(argc, argv);
}
