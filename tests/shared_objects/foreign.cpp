// Uses pools that another shared object made, in every order of loading and using. If each object
// has its own copy of Lido, the first use ends the program with a message; if they share one copy,
// it works.
//
// Usage: foreign refused|works local|global A.so B.so
//
// The host has a copy of Lido, too.
#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "foreign.hpp"

namespace {

constexpr std::string_view sentence =
    "lido: pool 'jobs' was made by another copy of Lido: link a shared one\n";
constexpr int bursts = 200;  // enough to open a cache

void require(bool held, const std::string& what) {
  if (!held) {
    fmt::print("BROKEN: {}\n", what);
    (void)std::fflush(stdout);
    std::_Exit(EXIT_FAILURE);
  }
}

struct loader {
  int visibility;
  std::array<const char*, 2> paths;

  [[nodiscard]] std::pair<void*, foreign_kinds> load(std::size_t which) const {
    void* const module = ::dlopen(paths.at(which), RTLD_NOW | visibility);
    require(module != nullptr, fmt::format("{} cannot be loaded", paths.at(which)));
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is made for
    const auto entry = reinterpret_cast<foreign_entry>(::dlsym(module, "lido_test_foreign"));
    require(entry != nullptr, "the module has no entry");
    return {module, entry()};
  }
};

/// The object that makes the pool, and the one that uses it.
struct parties {
  foreign_kinds maker;
  foreign_kinds user;
  void* closed = nullptr;  ///< the maker, if it is closed before the pool is used
};

/// Gives the calling thread the lowest numbers of that copy, and an open cache in a pool.
void warm_up(const foreign_kind& kind, void* pool) {
  for (int burst = 0; burst < bursts; ++burst) {
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
  void* const own = kind.make();
  warm_up(kind, own);
  kind.destroy(own);
}

struct order {
  const char* name;
  parties (*load)(const loader& from);
};

constexpr std::array orders{
    order{"the host's pool, in a module that was loaded before",
          [](const loader& from) {
            const foreign_kinds module = from.load(0).second;
            return parties{foreign_kinds_here(), module};
          }},
    order{"the host's pool, in a module that was loaded after a use",
          [](const loader& from) {
            warm_up(foreign_kinds_here().first[0]);
            return parties{foreign_kinds_here(), from.load(0).second};
          }},
    order{"a module's pool, in the host",
          [](const loader& from) {
            return parties{from.load(0).second, foreign_kinds_here()};
          }},
    order{"the first module's pool, in the second",
          [](const loader& from) {
            const foreign_kinds first = from.load(0).second;
            return parties{first, from.load(1).second};
          }},
    order{"the second module's pool, in the first",
          [](const loader& from) {
            const foreign_kinds first = from.load(0).second;
            warm_up(first.first[0]);
            return parties{from.load(1).second, first};
          }},
};

/// Only if each module has its own copy of Lido, and so stays loaded. A module that is unloaded may
/// leave no pool.
constexpr order closing{"the pool of a module that was closed, in another one",
                        [](const loader& from) {
                          const auto [module, closed] = from.load(0);
                          return parties{closed, from.load(1).second, module};
                        }};

void close_but_keep(void* module, const char* path) {
  require(::dlclose(module) == 0, "closing failed");
  require(::dlopen(path, RTLD_NOW | RTLD_NOLOAD) == module, "a closed module is unloaded");
}

/// The ways in which a foreign thread reaches the pool.
enum class way : unsigned char { take, give, destroy, take_without_number, give_without_number };
constexpr std::array ways{way::take, way::give, way::destroy, way::take_without_number,
                          way::give_without_number};

constexpr bool gives(way how) {
  return how == way::give || how == way::give_without_number;
}

void run_in_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

/// Runs in a thread that has given its numbers back: the keys of all copies come before this one.
void run_in_ending_thread(const std::function<void()>& body) {
  struct visitor {
    const std::function<void()>* body;
    pthread_key_t key;
    int rounds = 0;
  };
  visitor last{&body, {}};
  (void)pthread_key_create(&last.key, [](void* value) {
    auto& self = *static_cast<visitor*>(value);
    if (self.rounds++ == 0) {
      (void)pthread_setspecific(self.key, &self);
    } else {
      (*self.body)();
    }
  });
  run_in_thread([&last] { (void)pthread_setspecific(last.key, &last); });
  (void)pthread_key_delete(last.key);
}

/// Uses a pool whose maker's thread has an open cache; the user's thread is the first one of its
/// own copy.
void use(const parties& of, const loader& from, std::size_t kind, way how) {
  const foreign_kind& maker = of.maker.first[kind];
  const foreign_kind& user = of.user.first[kind];
  void* const pool = maker.make();
  warm_up(maker, pool);
  const std::uintptr_t taken = gives(how) ? maker.take(pool) : 0;
  if (of.closed != nullptr) {
    close_but_keep(of.closed, from.paths[0]);
  }
  const auto body = [&] {
    if (gives(how)) {
      user.give(pool, taken);
    } else if (how != way::destroy) {
      user.give(pool, user.take(pool));
    } else {
      user.destroy(pool);
    }
  };
  if (how == way::take_without_number || how == way::give_without_number) {
    run_in_ending_thread(body);
    return;
  }
  run_in_thread([&] {
    warm_up(user);
    body();
  });
}

struct ending {
  int status = 0;
  std::string errors;
};

ending run_in_child(const std::function<void()>& body) {
  std::array<int, 2> ends{};
  require(::pipe(ends.data()) == 0, "no pipe");
  (void)std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::dup2(ends[1], STDERR_FILENO);
    (void)std::signal(SIGABRT, SIG_DFL);  // NOLINT(cert-err33-c): sanitizers may catch it
    body();
    std::_Exit(EXIT_SUCCESS);
  }
  (void)::close(ends[1]);
  ending found;
  std::array<char, 1024> chunk{};
  for (ssize_t size = 0; (size = ::read(ends[0], chunk.data(), chunk.size())) > 0;) {
    found.errors.append(chunk.data(), static_cast<std::size_t>(size));
  }
  (void)::close(ends[0]);
  require(::waitpid(child, &found.status, 0) == child, "no child");
  return found;
}

bool ends_with_sentence(const ending& found) {
  return WIFSIGNALED(found.status) && WTERMSIG(found.status) == SIGABRT &&
         found.errors.find(sentence) != std::string::npos;
}

bool works(const ending& found) {
  return WIFEXITED(found.status) && WEXITSTATUS(found.status) == EXIT_SUCCESS &&
         found.errors.empty();
}

/// Tries all kinds of pools in all ways. Returns the number of cases.
std::size_t try_all(const order& one, const loader& from, bool together) {
  std::size_t tried = 0;
  for (std::size_t kind = 0; kind < foreign_kinds_here().count; ++kind) {
    const foreign_kind& made = foreign_kinds_here().first[kind];
    for (const way how : ways) {
      const bool allowed = together || (gives(how) ? made.may_give : made.may_take);
      const ending found = run_in_child([&] { use(one.load(from), from, kind, how); });
      require(allowed ? works(found) : ends_with_sentence(found),
              fmt::format("{}: {}, way {}: status {:#x}, \"{}\"", one.name, made.name,
                          static_cast<int>(how), found.status, found.errors));
      ++tried;
    }
  }
  return tried;
}

/// Tries the other calls on the host's pools, in a module. Returns the number of cases.
std::size_t try_calls(const loader& from, bool together) {
  std::size_t tried = 0;
  const foreign_kinds kinds = foreign_kinds_here();
  for (std::size_t kind = 0; kind < kinds.count; ++kind) {
    const foreign_kind& made = kinds.first[kind];
    for (std::size_t call = 0; call < made.count_calls; ++call) {
      const ending found = run_in_child([&] {
        void* const pool = made.make();
        from.load(0).second.first[kind].calls[call].run(pool);
      });
      require(together ? works(found) : ends_with_sentence(found),
              fmt::format("{} of {}: status {:#x}, \"{}\"", made.calls[call].name, made.name,
                          found.status, found.errors));
      ++tried;
    }
  }
  return tried;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv, argv + argc);
  require(arguments.size() == 5, "usage: foreign refused|works local|global A.so B.so");
  const loader from{arguments[2] == "global" ? RTLD_GLOBAL : RTLD_LOCAL, {argv[3], argv[4]}};
  const bool together = arguments[1] == "works";
  std::size_t tried = try_calls(from, together) + (together ? 0 : try_all(closing, from, together));
  for (const order& one : orders) {
    tried += try_all(one, from, together);
  }
  fmt::print("report: foreign={} visibility={} cases={}\n", arguments[1], arguments[2], tried);
  return EXIT_SUCCESS;
}
