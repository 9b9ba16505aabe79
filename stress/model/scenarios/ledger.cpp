#include "scenarios/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace model {

ledger::moment ledger::begin() const {
  auto& here = execution::now();
  stamp* const known = here.memory().known_to(here.self());
  ++known[here.self()];  // so that no two moments of a thread are the same
  moment now;
  now.by = here.self();
  std::copy_n(known, most_threads, now.known.begin());
  return now;
}

void ledger::got(std::size_t slot, const moment& began) {
  auto& here = execution::now();
  if (slot >= slots_.size()) {
    here.fail(fmt::format("there is no slot {}", slot));
    return;
  }
  slot_record& record = slots_[slot];
  if (record.held) {
    here.fail(fmt::format("slot {} has two owners: thread {} and thread {}", slot, record.owner,
                          here.self()));
  }
  record.held = true;
  record.owner = here.self();
  record.uses.push_back({began, {}, /*ended=*/false});
  record.content.write(here.self());
}

void ledger::gives(std::size_t slot) {
  auto& here = execution::now();
  slot_record& record = slots_[slot];
  if (record.content.read() != record.owner) {
    here.fail(fmt::format("slot {} was written by another than its owner", slot));
  }
  // The content now belongs to the releasing thread, which may not be the one that acquired.
  record.content.write(here.self());
  record.held = false;
}

void ledger::gave(std::size_t slot) {
  // The use that ends is the oldest open one: the slot may already have its next owner.
  auto& uses = slots_[slot].uses;
  const auto open =
      std::find_if(uses.begin(), uses.end(), [](const span& use) { return !use.ended; });
  if (open != uses.end()) {
    open->to = begin();
    open->ended = true;
  }
}

void ledger::begin_visit(std::size_t slot) {
  require(!slots_.at(slot).held, "a slot in use is visited");
  slots_.at(slot).content.write(execution::now().self());
}

void ledger::end_visit(std::size_t slot) {
  require(slots_.at(slot).content.read() == execution::now().self(),
          "a slot was acquired during its visit");
}

// Looks for one use of each slot, such that all of them and the refusal may have overlapped.
bool ledger::justified(const span& refusal, std::vector<const span*>& chosen) const {
  if (chosen.size() == slots_.size()) {
    return true;
  }
  for (const span& use : slots_[chosen.size()].uses) {
    const auto fits = [&use](const span* other) { return use.beside(*other); };
    if (use.beside(refusal) && std::all_of(chosen.begin(), chosen.end(), fits)) {
      chosen.push_back(&use);
      if (justified(refusal, chosen)) {
        return true;
      }
      chosen.pop_back();
    }
  }
  return false;
}

void ledger::check_refusals() const {
  auto& here = execution::now();
  if (here.had_solo()) {
    return;  // a stopped thread may have had slots in transit
  }
  for (const span& refusal : refusals_) {
    std::vector<const span*> chosen;
    if (!justified(refusal, chosen)) {
      here.fail("an acquire was refused although a slot was free all the while");
    }
  }
}

}  // namespace model
