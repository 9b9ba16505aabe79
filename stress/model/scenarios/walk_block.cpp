/// Walks that enter a block of slots, beside visitors and erasers of one of its values.
#include <array>
#include <cstdint>

#include "checker/plain.hpp"
#include "lido/concurrency/backoff.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/slot_map/slot_state.hpp"
#include "lido/slot_map/walk_block.hpp"
#include "scenarios/scenario.hpp"
#include "seam/system.hpp"

namespace model {

namespace {

using lido::detail::slot_state;
using lido::detail::walk_block;
using lido::detail::walk_count;
using access = slot_state::access;

constexpr std::uint64_t first = slot_state::first_generation;

/// A block with values at its first two indices.
class walked {
 public:
  walked() {
    for (one& each : all_) {
      each.value.write(first);
      each.state.publish();
    }
  }

  /// Walks over the values from index 0 on.
  template <class F>
  void walk(access how, std::uint32_t count, F during) {
    walks_.begin();
    walk_block_or_values(how, count, during);
    walks_.end();
  }
  void walk(access how, std::uint32_t count) {
    walk(how, count, [] {});
  }

  template <class F>
  void visit(std::uint32_t index, access how, F during) {
    slot_state& state = all_.at(index).state;
    for (bool passed = false; !passed && state.enter(first, how);) {
      passed = !walks_.any() || block_.let_pass(index, how);
      if (passed && state.is_live()) {
        touch(index, how);
        during();
      }
      if (state.leave(how)) {
        end_unless_walked(index);
      }
      if (!passed) {
        lido::detail::yield_thread();
      }
    }
  }
  void visit(std::uint32_t index, access how) {
    visit(index, how, [] {});
  }

  void erase(std::uint32_t index) {
    const auto found = all_.at(index).state.erase(first);
    if (found == slot_state::fate::ours) {
      end_unless_walked(index);
    }
  }

  /// Checks the count of destroyed values when all threads have ended.
  void check(int ended) const { require(ended_ == ended, "a value was never ended, or twice"); }

 private:
  struct one {
    slot_state state;
    plain<std::uint64_t> value{0};
  };

  void touch(std::uint32_t index, access how) {
    plain<std::uint64_t>& value = all_.at(index).value;
    require(value.read() == first, "a thread holds a value that was changed or erased");
    if (how == access::alone) {
      value.write(0);
      value.write(first);
    }
  }

  template <class F>
  void walk_block_or_values(access how, std::uint32_t count, F during) {
    if (!block_.try_enter(how)) {
      for (std::uint32_t index = 0; index < count; ++index) {
        visit(index, how, during);
      }
      return;
    }
    for (std::uint32_t index = 0; index < count; ++index) {
      if (block_.come_to(index, all_.at(index).state, how)) {
        touch(index, how);
        during();
      } else {
        visit(index, how, during);
      }
    }
    for (std::uint32_t link = block_.leave(); link != 0;) {
      const std::uint32_t index = link - 1;
      link = all_.at(index).state.next();
      end(index);
    }
  }

  void end_unless_walked(std::uint32_t index) {
    if (!walks_.any() || !block_.put_erased(all_.at(index).state, index)) {
      end(index);
    }
  }

  void end(std::uint32_t index) {
    all_.at(index).value.write(0);
    ++ended_;
    (void)all_.at(index).state.retire_value(slot_state::last_generation);
  }

  walk_count walks_;
  walk_block block_;
  std::array<one, 2> all_{};
  int ended_ = 0;  // the model runs one thread at a time
};

void walk_against_change() {
  walked block;
  in_threads([&] { block.walk(access::alone, 2); }, [&] { block.visit(1, access::alone); });
  block.check(0);
}

void reading_walk_against_change() {
  walked block;
  in_threads([&] { block.walk(access::shared, 1); }, [&] { block.visit(0, access::alone); },
             [&] { block.visit(0, access::shared); });
  block.check(0);
}

void walk_against_erase() {
  walked block;
  in_threads([&] { block.walk(access::alone, 2); }, [&] { block.erase(1); },
             [&] { block.erase(0); });
  block.check(2);
}

void walk_against_visited_erase() {
  walked block;
  in_threads([&] { block.walk(access::shared, 1); }, [&] { block.visit(0, access::shared); },
             [&] { block.erase(0); });
  block.check(1);
}

void two_walks() {
  walked block;
  in_threads([&] { block.walk(access::alone, 1); }, [&] { block.walk(access::alone, 1); },
             [&] { block.erase(0); });
  block.check(1);
}

// The callback erases its own value; a visitor that waited for the walk must not find it.
void walk_that_erases() {
  walked block;
  bool gone = false;
  in_threads(
      [&] {
        block.walk(access::alone, 1, [&] {
          block.erase(0);
          gone = true;
        });
      },
      [&] {
        block.visit(0, access::alone,
                    [&] { require(!gone, "a visitor holds a value that was erased"); });
      });
  block.check(1);
}

// The callback visits another value of the block, which another visitor wants, too.
void visit_in_a_walk() {
  walked block;
  in_threads([&] { block.walk(access::alone, 1, [&] { block.visit(1, access::alone); }); },
             [&] { block.visit(1, access::alone, [&] { block.erase(0); }); });
  block.check(1);
}

/// A map without a free slot: a thread that needs one destroys values that were erased beside
/// walks.
class full_map {
 public:
  full_map() {
    for (handle& each : handles_) {
      each = map_.emplace(ended_);
    }
  }

  template <class F>
  void walk(F during) {
    map_.for_each([&](one& value) {
      value.touch(access::alone);
      during();
    });
  }
  template <class F>
  void read_first(F during) const {
    map_.for_each([&](const one& value) {
      value.touch(access::shared);
      during();
      return false;
    });
  }
  void visit(std::size_t index) {
    map_.visit(handles_.at(index), [](one& value) { value.touch(access::alone); });
  }
  void erase(std::size_t index) {
    require(map_.erase(handles_.at(index)), "a value was erased by nobody, and is gone");
  }
  void need_slot() { made_ += map_.try_emplace(ended_) ? 1 : 0; }

  /// Checks, when all threads have ended, that no slot and no value is lost.
  void check() {
    int there = 0;
    walk([&] { ++there; });
    require(made_ - ended_ == there, "a value was never ended, or twice");
    for (; there < size; ++there) {
      require(static_cast<bool>(map_.try_emplace(ended_)), "a slot is lost");
    }
  }

 private:
  static constexpr int size = 2;

  struct one {
    explicit one(int& count) : ended(&count) { value.write(first); }
    one(const one&) = delete;
    one& operator=(const one&) = delete;
    ~one() {
      value.write(0);
      ++*ended;
    }
    void touch(access how) const {
      require(value.read() == first, "a thread holds a value that was changed or erased");
      if (how == access::alone) {
        value.write(0);
        value.write(first);
      }
    }
    mutable plain<std::uint64_t> value{0};
    int* ended;
  };
  using handle = lido::slot_handle<one>;

  int made_ = size;  // the model runs one thread at a time
  int ended_ = 0;
  lido::concurrent_slot_map<one> map_{{.max_size = size, .max_cached = 0}};
  std::array<handle, size> handles_;
};

// The second thread erases a value that the walk may be visiting or still reach, and then needs its
// slot.
void need_of_slots() {
  full_map map;
  in_threads([&] { map.walk([] {}); },
             [&] {
               map.erase(0);
               map.need_slot();
               map.erase(1);
               map.need_slot();
             });
  map.check();
}

// A callback that has erased its own value needs a slot while another thread erases one more.
void need_of_slots_of_others() {
  full_map map;
  in_threads(
      [&] {
        map.read_first([&] {
          map.erase(0);
          map.need_slot();
        });
      },
      [&] {
        map.visit(1);
        map.erase(1);
      });
  map.check();
}

void refused_fence_in_a_walk() {
  const refused_heavy_fences refused(refusals::any);
  walked block;
  in_threads([&] { block.walk(access::alone, 2); }, [&] { block.visit(1, access::alone); });
  block.check(0);
}

void need_of_slots_with_refused_fence() {
  const refused_heavy_fences refused(refusals::any);
  need_of_slots();
}

constexpr bounds few{2, 1, 0};

constexpr std::array walk_block_list{
    scenario{"walk_block.walk_against_change",
             "a walk and a visitor of the same value",
             &walk_against_change,
             false,
             {},
             true},
    scenario{"walk_block.reading_walk_against_change", "a walk that reads, and visitors",
             &reading_walk_against_change, false, few, true},
    scenario{"walk_block.walk_against_erase", "values are erased beside a walk",
             &walk_against_erase, false, few, true},
    scenario{"walk_block.walk_against_visited_erase", "a value is left by a reader and a walk",
             &walk_against_visited_erase, false, few, true},
    scenario{"walk_block.two_walks", "the second walk enters by value", &two_walks, false, few,
             true},
    scenario{"walk_block.walk_that_erases",
             "a callback erases what a visitor waits for",
             &walk_that_erases,
             false,
             {},
             true},
    scenario{"walk_block.visit_in_a_walk", "a callback visits another value of its block",
             &visit_in_a_walk, false, few, true},
    scenario{"walk_block.need_of_slots",
             "a thread ends what it has erased beside a walk",
             &need_of_slots,
             false,
             {},
             true},
    scenario{"walk_block.need_of_slots_of_others",
             "a thread ends what another one has erased beside a walk", &need_of_slots_of_others,
             false, few, true},
    scenario{"walk_block.need_of_slots_with_refused_fence",
             "the same where the kernel refuses the heavy fence",
             &need_of_slots_with_refused_fence,
             false,
             {},
             true},
    scenario{"walk_block.refused_fence",
             "the kernel refuses the heavy fence",
             &refused_fence_in_a_walk,
             false,
             {},
             true},
};

}  // namespace

std::span<const scenario> walk_block_scenarios() {
  return walk_block_list;
}

}  // namespace model
