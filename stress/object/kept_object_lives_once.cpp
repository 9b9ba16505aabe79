/// Tries to break: a slot of a pool that keeps its objects holds at most one, and every object that
/// begins ends once. Each of its uses begins with an activation and ends with a deactivation.
///
/// Hooks fail at random: creation and activation throw, deactivation throws or refuses. What is
/// written down is plain, so that ThreadSanitizer sees whether slots hand their objects over.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/pools.hpp"
#include "harness/run.hpp"

namespace {

struct settings {
  stress::run_options run;
  std::string pool = "revocable";
  std::size_t slots = 40;
  unsigned hold = 12;
  unsigned failures = 16;
};

struct planned_failure : std::runtime_error {
  planned_failure() : std::runtime_error("as planned") {}
};

class kept;

/// What all objects and hooks share.
struct book {
  stress::run* run = nullptr;
  unsigned failures = 0;  ///< one of so many calls of a hook fails; 0: none
  const kept* first = nullptr;
  std::vector<unsigned char> occupied;  ///< for each slot; its owner's to write
  std::atomic<long> live{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> refused{0};
};

/// An object that knows whether it is in use.
class kept {
 public:
  explicit kept(book& pages);
  kept(const kept&) = delete;
  ~kept();

  void use_begins() {
    change(false, true, "activated in use");
    if (refused_) {
      pages_.run->broken("a refused object was activated");
    }
  }
  void use_ends() { change(true, false, "deactivated out of use"); }
  /// From now on no thread may get it.
  void refuse() { refused_ = true; }
  void keep() { refused_ = false; }
  void touch() {
    if (!in_use_) {
      pages_.run->broken("an object out of use was acquired");
    }
    ++uses_;
  }

 private:
  void change(bool from, bool to, const char* fault) {
    if (in_use_ != from) {
      pages_.run->broken(fault);
    }
    in_use_ = to;
  }
  [[nodiscard]] unsigned char* place() const {
    return pages_.first == nullptr ? nullptr : &pages_.occupied[index()];
  }
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(this - pages_.first); }

  book& pages_;
  bool in_use_ = false;
  bool refused_ = false;
  std::uint64_t uses_ = 0;
};

kept::kept(book& pages) : pages_(pages) {
  if (unsigned char* const occupied = place(); occupied != nullptr) {
    if (*occupied != 0) {
      pages_.run->broken("an object was made in a slot that holds one");
    }
    *occupied = 1;
  }
  pages_.live.fetch_add(1, std::memory_order_relaxed);  // relaxed: read when the threads are gone
}

kept::~kept() {
  if (unsigned char* const occupied = place(); occupied != nullptr) {
    if (*occupied != 1) {
      pages_.run->broken("an object ended that was not there");
    }
    *occupied = 0;
  }
  pages_.live.fetch_sub(1, std::memory_order_relaxed);  // relaxed: as above
}

class hooks {
 public:
  explicit hooks(book& pages) : pages_(&pages) {}

  kept create() {
    fail_sometimes();
    return kept(*pages_);
  }
  void activate(kept& object) {
    fail_sometimes();
    object.use_begins();
  }
  bool deactivate(kept& object) {
    object.use_ends();
    object.refuse();  // unless what follows says otherwise
    fail_sometimes();
    if (pages_->failures != 0 && random()() % pages_->failures == 1) {
      pages_->refused.fetch_add(1, std::memory_order_relaxed);  // relaxed: only a count
      return false;
    }
    object.keep();
    return true;
  }

 private:
  static stress::random& random() {
    static std::atomic<unsigned> threads{1};
    thread_local stress::random own(threads.fetch_add(1));
    return own;
  }
  void fail_sometimes() {
    if (pages_->failures != 0 && random()() % pages_->failures == 0) {
      pages_->failed.fetch_add(1, std::memory_order_relaxed);  // relaxed: only a count
      throw planned_failure();
    }
  }

  book* pages_;
};

/// One thread's acquiring and releasing.
struct kept_traits : lido::pool_traits<kept> {
  using hooks = ::hooks;
};

template <class Pool>
void work(stress::run& run, Pool& pool, unsigned me, unsigned hold) {
  stress::random random = run.generator(me);
  std::vector<lido::lease<kept, kept_traits>> held;
  std::uint64_t operations = 0;
  while (!run.over()) {
    for (int i = 0; i < 256; ++i) {
      if (held.size() < 1 + random() % hold) {
        try {
          if (auto object = pool.try_acquire()) {
            object->touch();
            held.push_back(std::move(object));
          }
        } catch (const planned_failure&) {
          continue;
        }
      } else {
        std::swap(held[random() % held.size()], held.back());
        held.back()->touch();
        held.pop_back();
      }
    }
    operations += 256;
  }
  run.add_operations(operations);
}

/// Takes every slot once, for the address of the first.
template <class Pool>
void look_at_slots(Pool& pool, book& pages) {
  std::vector<kept*> all;
  while (kept* const object = pool.try_acquire_ptr()) {
    all.push_back(object);
  }
  pages.first = *std::min_element(all.begin(), all.end());
  pages.occupied.assign(all.size(), 1);
  pool.release_n(all);
}

int run_on(const settings& settings, lido::cache_kind caches) {
  stress::run run(settings.run);
  book pages;
  pages.run = &run;
  {
    lido::object_pool<kept, kept_traits> pool(
        {.capacity = settings.slots, .caches = caches, .creation = lido::creation::eager},
        hooks(pages));
    look_at_slots(pool, pages);
    pages.failures = settings.failures;
    run.in_threads(settings.run.threads,
                   [&](unsigned thread) { work(run, pool, thread + 1, settings.hold); });
    pages.failures = 0;
    const lido::pool_stats stats = pool.stats();
    if (static_cast<long>(stats.live) != pages.live.load() || stats.in_use != 0) {
      run.broken("the pool counts " + std::to_string(stats.live) + " objects, there are " +
                 std::to_string(pages.live.load()));
    }
    stress::print_contention(stats);
  }
  if (pages.live.load() != 0) {
    run.broken(std::to_string(pages.live.load()) + " objects outlive their pool");
  }
  run.require(settings.failures == 0 || pages.failed.load() > 0, "no hook has failed");
  run.require(settings.failures == 0 || pages.refused.load() > 0, "no object was refused");
  return run.held("kept_object_lives_once");
}

}  // namespace

int main(int argc, char** argv) {
  settings settings;
  stress::command_line line("A kept object lives once", settings.run);
  line.add_pool(settings.pool);
  line.add("--slots", settings.slots, "capacity of the pool");
  line.add("--hold", settings.hold, "most objects a thread holds");
  line.add("--failures", settings.failures, "one of so many calls of a hook fails; 0: none");
  line.parse(argc, argv);

  return run_on(settings, stress::caches_named(settings.pool));
}
