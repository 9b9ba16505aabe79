#include "show.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "fountain.hpp"
#include "ledger.hpp"
#include "nursery.hpp"
#include "picture/film.hpp"
#include "picture/painter.hpp"
#include "stores/evicting_store.hpp"
#include "stores/growing_store.hpp"
#include "stores/refusing_store.hpp"
#include "stores/tuned_store.hpp"

namespace particles {
namespace {

template <class Action>
void timed(double& seconds, const Action& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void note_sizes(showing& result, const fill& pool) {
  result.most_in_use = std::max(result.most_in_use, pool.in_use);
  result.least_capacity =
      result.most_capacity == 0 ? pool.capacity : std::min(result.least_capacity, pool.capacity);
  result.most_capacity = std::max(result.most_capacity, pool.capacity);
  result.grew = result.grew || (result.last_capacity != 0 && pool.capacity > result.last_capacity);
  result.last_capacity = pool.capacity;
}

film::format film_of(answer policy, const options& wanted) {
  return {.folder = wanted.out,
          .name = std::string(name_of(policy)),
          .width = wanted.width,
          .height = wanted.height,
          .every = wanted.every};
}

/// Everything that a run needs, except the store.
struct plan {
  answer policy;
  const options& wanted;
  const demand& load;
  const onlooker& look;
  ledger& books;
};

template <particle_store Store>
showing run(Store& store, const plan& how) {
  const auto& [policy, wanted, schedule, look, books] = how;
  const auto& load = schedule;  // Clang 14 lets no lambda capture a part of a structured binding
  showing result;
  result.policy = policy;
  nursery births(wanted.seed, books);
  fountain<Store> running(store, books, births);
  painter paints(wanted.width, wanted.height, wanted.particles);
  film takes(film_of(policy, wanted));
  for (std::size_t frame = 0; frame < wanted.frames; ++frame) {
    const image* picture = nullptr;
    fill pool;
    pool.peak = load.peak();
    timed(result.seconds.simulating,
          [&] { running.advance(load.births(frame), demand::pressure(frame)); });
    pool.in_use = store.in_use();
    pool.capacity = store.capacity();
    note_sizes(result, pool);
    timed(result.seconds.checking, [&] { running.check(); });
    timed(result.seconds.drawing, [&] { picture = &paints.paint(store, frame, pool); });
    timed(result.seconds.writing, [&] { takes.add(*picture); });
    look(*picture);
    if (frame == load.fullest_frame()) {
      result.still = *picture;
    }
  }
  timed(result.seconds.writing, [&] { result.animation = takes.finish(); });
  result.counted = books.totals();
  result.wrong = books.found_wrong().first();
  result.wrong_count = books.found_wrong().count();
  return result;
}

}  // namespace

bool was_never_full(const showing& one) noexcept {
  switch (one.policy) {
    case answer::refuse:
      return one.counted.refused == 0;
    case answer::evict:
      return one.counted.evicted == 0;
    case answer::grow:
      return !one.grew;
    case answer::tuned:
      break;
  }
  return false;
}

showing show(answer policy, const options& wanted, const demand& load, const onlooker& look) {
  ledger books(load.total());
  const plan how{policy, wanted, load, look, books};
  switch (policy) {
    case answer::tuned: {
      tuned_store store(load.peak());
      return run(store, how);
    }
    case answer::refuse: {
      refusing_store store(wanted.particles);
      return run(store, how);
    }
    case answer::evict: {
      evicting_store store(wanted.particles, books);
      return run(store, how);
    }
    case answer::grow: {
      growing_store store(std::min(wanted.particles / 8, load.peak()), load.peak());
      return run(store, how);
    }
  }
  throw std::logic_error("an answer that is none");
}

}  // namespace particles
