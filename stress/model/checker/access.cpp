#include "checker/access.hpp"

#include <fmt/format.h>

#include <array>

namespace model {

namespace {

bool acquires(memory_order order) {
  return order == memory_order::acquire || order == memory_order::acq_rel ||
         order == memory_order::seq_cst;
}

bool releases(memory_order order) {
  return order == memory_order::release || order == memory_order::acq_rel ||
         order == memory_order::seq_cst;
}

const char* name_of(memory_order order) {
  switch (order) {
    case memory_order::relaxed:
      return "relaxed";
    case memory_order::consume:
      return "consume";
    case memory_order::acquire:
      return "acquire";
    case memory_order::release:
      return "release";
    case memory_order::acq_rel:
      return "acq_rel";
    default:
      return "seq_cst";
  }
}

// Returns small numbers in decimal, addresses and tagged words in hexadecimal.
std::string readable(std::uint64_t value) {
  constexpr std::uint64_t small = 100'000;
  return value < small ? fmt::format("{}", value) : fmt::format("{:#x}", value);
}

void note_failure(execution& here, location_id where, code_location from) {
  if (trace* const events = here.events(); events != nullptr) {
    events->add(here.self(), fmt::format("#{:<3} accessed", where), from);
  }
}

/// Begins an access. Returns false if the execution has failed; the access then uses only the
/// newest value.
bool begin(execution& here, location_id where, code_location from) {
  here.point();
  if (!here.checks()) {
    return false;
  }
  if (here.memory().destroyed(where)) {
    note_failure(here, where, from);
    here.fail("an atomic is used that has been destroyed");
    return false;
  }
  if (!here.memory().created_before(where, here.self())) {
    note_failure(here, where, from);
    here.fail("a data race: an atomic is used whose construction may not be over");
    return false;
  }
  return true;
}

// Most executions are run only for their result, so `text` is called only if events are recorded.
template <class Text>
void record(location_id where, code_location from, const Text& text) {
  auto& here = execution::now();
  if (trace* const events = here.events(); events != nullptr && here.checks()) {
    events->add(here.self(), fmt::format("#{:<3} {}", where, text()), from);
  }
}

std::string age(std::size_t newer) {
  return newer == 0 ? "" : fmt::format(", {} newer stores unseen", newer);
}

}  // namespace

location_id create(std::uint64_t value) {
  auto& here = execution::now();
  return here.memory().create(here.self(), value);
}

location_id create_zeroed() {
  return execution::now().memory().create_zeroed();
}

void destroy(location_id where) noexcept {
  execution::now().memory().destroy(where);
}

std::uint64_t load(location_id where, memory_order order, code_location from) {
  auto& here = execution::now();
  auto& memory = here.memory();
  order = weakening::now().apply(order, "load", from);
  if (!begin(here, where, from)) {
    return memory.stores(where).back().value;
  }
  if (order == memory_order::seq_cst) {
    memory.see_total_order(here.self(), where);
  }
  const std::size_t newest = memory.stores(where).size() - 1;
  const auto range = static_cast<unsigned>(newest - memory.oldest_readable(where, here.self()) + 1);
  const unsigned back = here.choose(question::read, range);
  memory.read(where, newest - back, here.self(), acquires(order));
  if (order == memory_order::seq_cst) {
    memory.enter_total_order(here.self(), where);
  }
  const std::uint64_t value = memory.stores(where)[newest - back].value;
  record(where, from,
         [&] { return fmt::format("load {} = {}{}", name_of(order), readable(value), age(back)); });
  return value;
}

void store(location_id where, std::uint64_t value, memory_order order, code_location from) {
  auto& here = execution::now();
  auto& memory = here.memory();
  order = weakening::now().apply(order, "store", from);
  if (!begin(here, where, from)) {
    memory.write(where, memory.stores(where).size() - 1, value, here.self(), /*release=*/false,
                 /*attached=*/false);
    return;
  }
  if (order == memory_order::seq_cst) {
    memory.see_total_order(here.self(), where);
  }
  // The new store follows the newest store, or an older store that the thread may still take for
  // the newest.
  const std::size_t newest = memory.stores(where).size() - 1;
  const std::size_t oldest = memory.oldest_readable(where, here.self());
  std::array<std::size_t, 8> indices{newest};
  unsigned count = 1;
  for (std::size_t index = newest; index > oldest && count < indices.size();) {
    if (memory.can_follow(where, --index)) {
      indices.at(count++) = index;
    }
  }
  const std::size_t index = indices.at(here.choose(question::write, count));
  memory.write(where, index, value, here.self(), releases(order), /*attached=*/false);
  if (order == memory_order::seq_cst) {
    memory.enter_total_order(here.self(), where);
  }
  record(where, from, [&] {
    return fmt::format("store {} {}{}", name_of(order), readable(value),
                       index == newest ? "" : ", but behind a later store");
  });
}

namespace detail {

source begin_modification(location_id where, memory_order& order, code_location from) {
  auto& here = execution::now();
  auto& memory = here.memory();
  order = weakening::now().apply(order, "change", from);
  if (!begin(here, where, from)) {
    return {memory.stores(where).size() - 1, memory.stores(where).back().value};
  }
  if (order == memory_order::seq_cst) {
    memory.see_total_order(here.self(), where);
  }
  const std::size_t newest = memory.stores(where).size() - 1;
  const std::size_t oldest = memory.oldest_readable(where, here.self());
  std::array<std::size_t, 8> sources{newest};
  unsigned count = 1;
  for (std::size_t index = newest; index > oldest && count < sources.size();) {
    if (memory.can_attach(where, --index)) {
      sources.at(count++) = index;
    }
  }
  const std::size_t index = sources.at(here.choose(question::write, count));
  memory.read(where, index, here.self(), acquires(order));
  return {index, memory.stores(where)[index].value};
}

void end_modification(location_id where, source read, std::uint64_t value, memory_order order,
                      code_location from) {
  auto& here = execution::now();
  here.memory().write(where, read.index, value, here.self(), here.checks() && releases(order),
                      /*attached=*/true);
  if (order == memory_order::seq_cst && here.checks()) {
    here.memory().enter_total_order(here.self(), where);
  }
  record(where, from, [&] {
    return fmt::format("change {} {} -> {}", name_of(order), readable(read.value), readable(value));
  });
}

}  // namespace detail

namespace {

/// A possible outcome of a compare-and-swap: which store it reads, and whether it then stores.
struct outcome {
  std::size_t index;
  bool succeeds;
};

/// The possible outcomes. The first is the outcome that reads the newest store.
struct outcomes {
  std::array<outcome, 8> all{};
  unsigned count = 0;

  outcomes(memory& memory, location_id where, thread_id self, std::uint64_t expected,
           cas_orders orders) {
    const auto& stores = memory.stores(where);
    const std::size_t oldest = memory.oldest_readable(where, self);
    const std::size_t in_order = memory.oldest_in_order(where, self);
    for (std::size_t index = stores.size(); index > oldest && count < all.size();) {
      const bool equal = stores[--index].value == expected;
      const memory_order order = equal ? orders.success : orders.failure;
      if ((order != memory_order::seq_cst || index >= in_order) &&
          (!equal || memory.can_attach(where, index))) {
        all.at(count++) = {index, equal};
      }
    }
  }
};

outcome choose_outcome(execution& here, location_id where, std::uint64_t expected,
                       cas_orders orders, bool weak) {
  const outcomes possible(here.memory(), where, here.self(), expected, orders);
  if (weak && possible.all[0].succeeds && here.choose(question::failure, 2) == 1) {
    return {possible.all[0].index, false};
  }
  return possible.all.at(here.choose(question::read, possible.count));
}

/// Runs a compare-and-swap on the newest value, during the clean-up after a failed execution.
bool plain_compare_exchange(memory& memory, location_id where, std::uint64_t& expected,
                            std::uint64_t desired, thread_id self) {
  const std::size_t newest = memory.stores(where).size() - 1;
  const std::uint64_t found = memory.stores(where)[newest].value;
  if (found == expected) {
    memory.write(where, newest, desired, self, /*release=*/false, /*attached=*/true);
    return true;
  }
  expected = found;
  return false;
}

}  // namespace

bool compare_exchange(location_id where, std::uint64_t& expected, std::uint64_t desired,
                      cas_orders orders, bool weak, code_location from) {
  auto& here = execution::now();
  auto& memory = here.memory();
  orders.success = weakening::now().apply(orders.success, "CAS", from);
  orders.failure = weakening::now().apply(orders.failure, "failed CAS", from);
  if (!begin(here, where, from)) {
    return plain_compare_exchange(memory, where, expected, desired, here.self());
  }
  const outcome end = choose_outcome(here, where, expected, orders, weak);
  const std::uint64_t found = memory.stores(where)[end.index].value;
  const std::size_t newer = memory.stores(where).size() - 1 - end.index;
  const memory_order order = end.succeeds ? orders.success : orders.failure;
  memory.read(where, end.index, here.self(), acquires(order));
  if (end.succeeds) {
    memory.write(where, end.index, desired, here.self(), releases(order), /*attached=*/true);
  }
  if (order == memory_order::seq_cst) {
    memory.enter_total_order(here.self(), where);
  }
  const std::string_view why = found == expected ? " for no reason" : "";
  expected = found;
  record(where, from, [&] {
    return end.succeeds
               ? fmt::format("CAS {} {} -> {}", name_of(order), readable(found), readable(desired))
               : fmt::format("CAS {} failed{}, {} found{}", name_of(order), why, readable(found),
                             age(newer));
  });
  return end.succeeds;
}

void light_fence(code_location from) {
  auto& here = execution::now();
  const bool left_out = weakening::now().leaves_out("light fence", from);
  if (here.self() != 0 && here.checks() && !left_out) {
    here.memory().light_fence(here.self());
  }
}

void full_fence(code_location from) {
  auto& here = execution::now();
  const bool left_out = weakening::now().leaves_out("full fence", from);
  if (!here.checks() || left_out) {
    return;
  }
  here.point();
  here.memory().light_fence(here.self());  // for the compiler it is a light fence, too
  here.memory().fence_in_total_order(here.self());
  if (trace* const events = here.events(); events != nullptr) {
    events->add(here.self(), "     full fence", from);
  }
}

void heavy_fence(code_location from) {
  auto& here = execution::now();
  if (here.self() == 0 || !here.checks()) {
    return;
  }
  auto& memory = here.memory();
  here.point();
  memory.heavy_fence_begin(here.self());
  std::array<thread_id, most_threads> left{};
  unsigned count = 0;
  for (const thread_id who : here.others()) {
    if (here.has_ended(who)) {
      memory.heavy_fence_reaches(who);  // everything it did has happened
    } else {
      left.at(count++) = who;
    }
  }
  for (; count > 0; --count) {
    // The caller waits in the kernel, so running other threads first costs no preemption.
    here.point(/*free=*/true);
    const unsigned next = here.choose(question::event, count);
    memory.heavy_fence_reaches(left.at(next));
    left.at(next) = left.at(count - 1);
  }
  here.point(/*free=*/true);
  memory.heavy_fence_end(here.self());
  if (trace* const events = here.events(); events != nullptr) {
    events->add(here.self(), "     heavy fence has reached every thread", from);
  }
}

}  // namespace model
