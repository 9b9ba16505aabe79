/// @file
/// Which thread holds which slot, and whether a refusal was right.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "checker/plain.hpp"

namespace model {

/// Book-keeping of a scenario, outside the modelled memory, except for what owners write into
/// slots.
///
/// It checks that a slot has one owner (I3), and that the next owner sees what the previous one did
/// (I5). After a refused acquire, every slot may have been in use at one moment of the call (I9).
///
/// There is no common clock in a weak memory. "At one moment" means that neither of two things is
/// known to have happened before the other: a load may be late as long as no thread can tell.
class ledger {
 public:
  /// Something a thread did, and what it knew of the others then.
  struct moment {
    thread_id by = 0;
    std::array<stamp, most_threads> known{};

    [[nodiscard]] bool before(const moment& other) const { return known[by] <= other.known[by]; }
  };

  explicit ledger(std::size_t slots) : slots_(slots) {}

  /// Returns the moment before an acquire.
  [[nodiscard]] moment begin() const;
  /// Records that the acquire that began then got this slot.
  void got(std::size_t slot, const moment& began);
  /// Records that the acquire that began then got nothing.
  void refused(const moment& began) { refusals_.push_back({began, begin()}); }
  /// Called before and after a release.
  void gives(std::size_t slot);
  void gave(std::size_t slot);
  [[nodiscard]] bool in_use(std::size_t slot) const { return slots_.at(slot).held; }
  /// Called before and after a visit of a free slot, which is no use of the slot.
  void begin_visit(std::size_t slot);
  void end_visit(std::size_t slot);

  /// Checks all refusals, when all threads have ended.
  void check_refusals() const;
  [[nodiscard]] std::size_t refusals() const { return refusals_.size(); }
  [[nodiscard]] std::size_t capacity() const { return slots_.size(); }

 private:
  struct span {
    moment from;
    moment to;
    bool ended = true;

    [[nodiscard]] bool before(const span& other) const { return ended && to.before(other.from); }
    [[nodiscard]] bool beside(const span& other) const {
      return !before(other) && !other.before(*this);
    }
  };
  struct slot_record {
    plain<unsigned> content;
    bool held = false;
    thread_id owner = 0;
    std::vector<span> uses;  ///< spans from the start of the acquire to the end of the release
  };

  [[nodiscard]] bool justified(const span& refusal, std::vector<const span*>& chosen) const;

  std::vector<slot_record> slots_;
  std::vector<span> refusals_;
};

}  // namespace model
