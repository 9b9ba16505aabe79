/// Runs the steps of a litmus test.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "litmus/litmus.hpp"
#include "scenarios/scenario.hpp"

namespace model {

namespace {

using word = lido::detail::atomic<int>;

std::string last;
const litmus* chosen = nullptr;

/// One thread, and the values that its steps report.
struct body {
  const std::vector<step>* steps;
  std::array<word, 2>* words;
  std::vector<int> told{};

  void run() {
    int read = 0;
    for (const step& each : *steps) {
      read = do_step(each, read);
      if (each.tells) {
        told.push_back(read);
      }
    }
  }

  /// Returns the value that the step has read. `read`: the value from the previous step.
  int do_step(const step& one, int read) const {
    word& at = words->at(one.word);
    int found = one.expected;
    switch (one.what) {
      case step::kind::load:
        return at.load(one.order);
      case step::kind::store:
        at.store(one.value, one.order);
        break;
      case step::kind::store_read:
        at.store(read, one.order);
        break;
      case step::kind::add:
        return at.fetch_add(one.value, one.order);
      case step::kind::strong_cas:
        (void)at.compare_exchange_strong(found, one.value, one.order, one.failure);
        break;
      case step::kind::weak_cas:
        (void)at.compare_exchange_weak(found, one.value, one.order, one.failure);
        break;
      case step::kind::light_fence:
        lido::detail::light_fence();
        break;
      case step::kind::full_fence:
        lido::detail::full_fence();
        break;
      case step::kind::heavy_fence:
        (void)lido::detail::heavy_fence();
        break;
    }
    return found;
  }
};

}  // namespace

void record(std::string outcome) {
  last = std::move(outcome);
}

const std::string& recorded() {
  return last;
}

void choose_litmus(const litmus& test) {
  chosen = &test;
}

void run_steps() {
  std::array<word, 2> words{word(0), word(0)};
  std::vector<body> bodies;
  for (const std::vector<step>& steps : chosen->threads) {
    bodies.push_back({&steps, &words});
  }
  std::vector<task> tasks;
  for (body& each : bodies) {
    tasks.push_back({[](void* one) { static_cast<body*>(one)->run(); }, &each});
  }
  execution::now().run_threads(tasks);
  std::vector<int> told;
  for (const std::size_t which : chosen->ends) {
    told.push_back(words.at(which).load(std::memory_order_relaxed));
  }
  for (const body& each : bodies) {
    told.insert(told.end(), each.told.begin(), each.told.end());
  }
  record(fmt::format("{}", fmt::join(told, " ")));
}

}  // namespace model
