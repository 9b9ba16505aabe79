/// @file
/// `churn`: each thread holds 64 objects and replaces one of them, chosen at random.
#pragma once

#include "step.hpp"

namespace lido_bench {

struct churn {
  static constexpr std::string_view name{"churn"};
  static constexpr std::size_t held_count{64};
  static constexpr unsigned operations{2};
  static constexpr std::uint64_t warm_up{4096};

  template <typename Pool>
  static void run(Pool& pool, lane& self) {
    typename Pool::session session{pool};
    std::array<void*, held_count> held;  // NOLINT(cppcoreguidelines-pro-type-member-init): below
    take_all<Pool>(session, self, held);
    try {
      replace<Pool>(session, self, held);
    } catch (const starvation&) {
      give_held(session, held);
      throw;
    }
    give_held(session, held);
  }

 private:
  template <typename Pool, typename Session>
  [[gnu::always_inline]] static void replace(Session& session, lane& self, std::span<void*> held) {
    std::uint64_t random{self.index() + 1};
    for (const std::uint64_t iterations : self.phases()) {
      self.enter_phase();
      for (std::uint64_t i{0}; i < iterations; ++i) {
        // Knuth's MMIX generator: two instructions, its top six bits choose the index.
        random = random * 6364136223846793005U + 1442695040888963407U;
        void*& place{held[random >> 58U]};
        give(session, place);
        place = nullptr;
        place = take<Pool>(session, self);
      }
    }
    self.stop();
  }

  template <typename Session>
  static void give_held(Session& session, std::span<void* const> held) {
    for (void* const object : held) {
      if (object != nullptr) {
        session.release(object);
      }
    }
  }
};

}  // namespace lido_bench
