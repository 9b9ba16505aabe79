// A program with a static Lido, and DLLs with one each. The use of a pool that another of them made
// ends the program with a message, as a child of this program shows.
//
// Usage: copies A.dll B.dll
#include <process.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "shared_objects/foreign.hpp"
#include "support/modules.hpp"

namespace {

constexpr const char* sentence =
    "lido: pool 'jobs' was made by another copy of Lido: link a shared one\n";
constexpr int aborted = 3;  // the exit code of std::abort

void require(bool held, const std::string& what) {
  if (!held) {
    std::printf("BROKEN: %s\n", what.c_str());
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

struct parties {
  foreign_kinds maker;
  foreign_kinds user;
};

foreign_kinds load(const std::string& path) {
  void* const module = lido_test::load_module(path);
  require(module != nullptr, path + " cannot be loaded");
  auto* const entry = lido_test::find_function<foreign_kinds()>(module, "lido_test_foreign");
  require(entry != nullptr, path + " has no entry");
  return entry();
}

/// Gives its thread the lowest numbers of that copy, and an open cache in the pool.
void warm_up(const foreign_kind& kind, void* pool) {
  for (int burst = 0; burst < 200; ++burst) {
    std::array<std::uintptr_t, 8> taken{};
    for (std::uintptr_t& one : taken) {
      one = kind.take(pool);
    }
    for (const std::uintptr_t one : taken) {
      kind.give(pool, one);
    }
  }
}
void warm_up(const foreign_kind& kind) {
  void* const pool = kind.make();
  warm_up(kind, pool);
  kind.destroy(pool);
}

using modules = std::array<std::string, 2>;

struct order {
  const char* name;
  parties (*load)(const modules& from);
};
constexpr std::array orders{
    order{"the program's pool, in a DLL",
          [](const modules& from) {
            warm_up(foreign_kinds_here().first[0]);
            return parties{foreign_kinds_here(), load(from[0])};
          }},
    order{"a DLL's pool, in the program",
          [](const modules& from) {
            return parties{load(from[0]), foreign_kinds_here()};
          }},
    order{"the first DLL's pool, in the second",
          [](const modules& from) {
            const foreign_kinds first = load(from[0]);
            return parties{first, load(from[1])};
          }},
    order{"the second DLL's pool, in the first",
          [](const modules& from) {
            const foreign_kinds first = load(from[0]);
            warm_up(first.first[0]);
            return parties{load(from[1]), first};
          }},
};

/// Uses a pool whose maker's thread has an open cache; the user's thread is the first one of its
/// own copy.
void use(const parties& of, std::size_t kind, bool gives) {
  const foreign_kind& maker = of.maker.first[kind];
  const foreign_kind& user = of.user.first[kind];
  void* const pool = maker.make();
  warm_up(maker, pool);
  const std::uintptr_t taken = gives ? maker.take(pool) : 0;
  std::thread([&] {
    warm_up(user);
    user.give(pool, gives ? taken : user.take(pool));
  }).join();
}

struct ending {
  std::intptr_t code;
  std::string errors;
};

/// Runs one use in a separate process.
ending run_child(const char* self, const modules& from, std::size_t order, std::size_t kind,
                 bool gives) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("lido-copies-" + std::to_string(::_getpid()));
  const std::string name = file.string();
  const std::string order_text = std::to_string(order);
  const std::string kind_text = std::to_string(kind);
  const std::intptr_t code =
      ::_spawnl(_P_WAIT, self, "copies", from[0].c_str(), from[1].c_str(), order_text.c_str(),
                kind_text.c_str(), gives ? "give" : "take", name.c_str(), nullptr);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  return {code, text.str()};
}

}  // namespace

int main(int argc, char** argv) {
  require(argc == 3 || argc == 7, "usage: copies A.dll B.dll");
  const modules from{argv[1], argv[2]};
  if (argc == 7) {
    require(std::freopen(argv[6], "w", stderr) != nullptr, "no file for errors");
    use(orders.at(std::stoul(argv[3])).load(from), std::stoul(argv[4]),
        std::string(argv[5]) == "give");
    return EXIT_SUCCESS;
  }
  int cases = 0;
  for (std::size_t order = 0; order < orders.size(); ++order) {
    // The first order runs with all kinds of pools.
    const std::size_t kinds = order == 0 ? foreign_kinds_here().count : 1;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      for (const bool gives : {false, true}) {
        const foreign_kind& made = foreign_kinds_here().first[kind];
        const ending found = run_child(argv[0], from, order, kind, gives);
        const bool works = found.code == EXIT_SUCCESS && found.errors.empty();
        const bool refused =
            found.code == aborted && found.errors.find(sentence) != std::string::npos;
        require((gives ? made.may_give : made.may_take) ? works : refused,
                std::string(orders.at(order).name) + ": " + made.name +
                    (gives ? ", release" : ", acquire") + ": exit code " +
                    std::to_string(found.code) + ", " + found.errors);
        ++cases;
      }
    }
  }
  std::printf("report: copies=%d\n", cases);
  return EXIT_SUCCESS;
}
