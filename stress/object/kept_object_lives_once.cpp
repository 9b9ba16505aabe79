/// Tries to break: a slot of a pool that keeps its objects holds at most one, and every constructed
/// object is destroyed once. Each of its uses begins with an activation and ends with a
/// deactivation.
///
/// Hooks fail at random: creation and activation throw, deactivation throws or refuses. The records
/// are plain, so that ThreadSanitizer sees whether slots hand their objects over.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/pools.hpp"

namespace {

struct planned_failure : std::runtime_error {
  planned_failure() : std::runtime_error("as planned") {}
};

class kept;

/// State shared by all objects and hooks.
struct book {
  stress::run* run = nullptr;
  unsigned failures = 0;  ///< one of this many calls of a hook fails; 0: none
  const kept* first = nullptr;
  std::vector<unsigned char> occupied;  ///< by slot; only its owner writes
  std::atomic<long> live{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> refused{0};
};

/// An object that records whether it is in use.
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
  /// Keeps the object from any later use.
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

struct kept_traits : lido::pool_traits<kept> {
  using hooks = ::hooks;
};
using pool_type = lido::object_pool<kept, kept_traits>;

/// One thread's acquiring and releasing.
void work(stress::run& run, pool_type& pool, unsigned me, unsigned hold) {
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

/// Takes every slot once, to learn the address of the first.
void look_at_slots(pool_type& pool, book& pages) {
  std::vector<kept*> all;
  while (kept* const object = pool.try_acquire_ptr()) {
    all.push_back(object);
  }
  pages.first = *std::min_element(all.begin(), all.end());
  pages.occupied.assign(all.size(), 1);
  pool.release_n(all);
}

struct kept_object_lives_once : stress::pool_driver {
  kept_object_lives_once() : pool_driver("kept_object_lives_once") {}

  void load(stress::run& run) override {
    pages_.run = &run;
    pool_type pool(with_pool({.capacity = slots_, .creation = lido::creation::eager}),
                   hooks(pages_));
    look_at_slots(pool, pages_);
    pages_.failures = failures_;
    run.in_threads(threads(), [&](unsigned thread) { work(run, pool, thread + 1, hold_); });
    pages_.failures = 0;
    const lido::slot_pool_stats now = pool.stats();
    if (static_cast<long>(now.live) != pages_.live.load() || now.in_use != 0) {
      run.broken("the pool counts " + std::to_string(now.live) + " objects, there are " +
                 std::to_string(pages_.live.load()));
    }
    stress::print_contention(now);
  }
  void check(stress::run& run) override {
    if (pages_.live.load() != 0) {
      run.broken(std::to_string(pages_.live.load()) + " objects outlive their pool");
    }
  }
  [[nodiscard]] std::string missing() const override {
    if (failures_ == 0 || (pages_.failed > 0 && pages_.refused > 0)) {
      return "";
    }
    return pages_.failed == 0 ? "no hook has failed" : "no object was refused";
  }

  const unsigned& slots_ = option("--slots", 40, "capacity of the pool");
  const unsigned& hold_ = option("--hold", 12, "most objects a thread holds");
  const unsigned& failures_ =
      option("--failures", 16, "one of so many calls of a hook fails; 0: none");
  book pages_;
};

}  // namespace

int main(int argc, char** argv) {
  return kept_object_lives_once().drive(argc, argv);
}
