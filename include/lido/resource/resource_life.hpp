/// @file
/// Internal. The life of one resource: a state machine that knows no clock, no lock and no R.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lido/concurrency/atomic.hpp"
#include "lido/concurrency/cache_line.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/limits.hpp"

namespace lido::detail {

/// empty -> creating -> in_use <-> idle <-> checking; from in_use or checking to closing to empty.
/// A failed create goes back from creating to empty, a detached resource from in_use to empty.
enum class life_state : std::uint8_t { empty, creating, idle, in_use, checking, closing };

/// The state, whether somebody wants the resource ended, the turn (which use of the place this is)
/// and the birth (which resource in this place), in one word, so that they change together.
class life_word {
 public:
  constexpr life_word() noexcept = default;
  constexpr explicit life_word(std::uint64_t bits) noexcept : bits_(bits) {}
  /// Of an empty place that has had so many resources.
  [[nodiscard]] static constexpr life_word behind(std::uint64_t birth) noexcept {
    return life_word(birth << birth_shift);
  }

  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr life_state state() const noexcept {
    return static_cast<life_state>(bits_ & state_mask);
  }
  [[nodiscard]] constexpr bool doomed() const noexcept { return (bits_ & doom_bit) != 0; }
  [[nodiscard]] constexpr std::uint64_t birth() const noexcept { return bits_ >> birth_shift; }
  /// Which lease this is, as far as 32 bits go: all of the turn, and the low bits of the birth.
  [[nodiscard]] constexpr std::uint32_t lease() const noexcept {
    return static_cast<std::uint32_t>(bits_ / one_turn);
  }

  [[nodiscard]] constexpr life_word in(life_state state) const noexcept {
    return life_word((bits_ & ~state_mask) | static_cast<std::uint64_t>(state));
  }
  [[nodiscard]] constexpr life_word with_doom() const noexcept {
    return life_word(bits_ | doom_bit);
  }
  [[nodiscard]] constexpr life_word with_next_turn() const noexcept {
    constexpr std::uint64_t turn_mask = (one_birth - 1) & ~(one_turn - 1);
    return life_word((bits_ & ~turn_mask) | ((bits_ + one_turn) & turn_mask));
  }
  [[nodiscard]] constexpr life_word with_next_birth() const noexcept {
    return life_word((bits_ & ~doom_bit) + one_birth);
  }

  friend constexpr bool operator==(life_word, life_word) noexcept = default;

 private:
  static constexpr std::uint64_t state_mask = 7;
  static constexpr std::uint64_t doom_bit = 8;
  static constexpr std::uint64_t one_turn = 16;
  static constexpr unsigned birth_shift = 28;
  static constexpr std::uint64_t one_birth = std::uint64_t{1} << birth_shift;

  std::uint64_t bits_ = 0;
};

/// Whether a resource may be used again.
struct verdict {
  enum class kind : std::uint8_t { fit, validate, retire };
  kind what = kind::fit;
  destroy_reason why = destroy_reason::invalid;  ///< only of retire
  friend bool operator==(const verdict&, const verdict&) noexcept = default;
};

/// One place of a pool, and what is known about the resource in it.
///
/// Every change of state is one compare-and-swap of the whole word, so of two threads that want
/// different things exactly one gets it. All times are handed in. What is beside the word belongs
/// to whoever brought it into its state; others may read the parts that are atomic, as numbers.
///
/// Memory ordering: what was done to a resource in one state is visible in the next (1 to 4).
/// Progress: wait-free, but for `doom`, which is lock-free.
class alignas(no_false_sharing) resource_life {
 public:
  resource_life() noexcept = default;
  resource_life(const resource_life&) = delete;
  resource_life& operator=(const resource_life&) = delete;
  ~resource_life() = default;

  [[nodiscard]] life_word word() const noexcept {
    // (1) - this seq_cst-load synchronizes-with the seq_cst-CAS (2), and is in one total order with
    // it and with attention.hpp (1, 2): who has begun to wait sees what was released before
    return life_word(word_.load(std::memory_order_seq_cst));
  }
  [[nodiscard]] life_state state() const noexcept { return word().state(); }

  // ---- transitions: each says whether it took place -------------------------------------------

  [[nodiscard]] bool reserve() noexcept {
    life_word seen = word();
    return seen.state() == life_state::empty && move(seen, seen.in(life_state::creating));
  }

  /// creating -> in_use, as a new resource. `draw` from [0, 1) decides how much lifetime the jitter
  /// costs, once. Returns the ticket of the first use.
  life_word be_born(nanos now, const life_limits& limits, double draw,
                    std::uint32_t epoch) noexcept;

  /// creating, in_use or closing -> empty. Only who brought it there.
  void vanish() noexcept;

  /// The next resource is the one after that birth. Only while it is empty, and nobody else is
  /// here.
  void begin_behind(std::uint64_t birth) noexcept {
    // relaxed: before anybody else knows of it
    word_.store(life_word::behind(birth).bits(), std::memory_order_relaxed);
  }

  /// idle -> in_use or checking. `ticket` is the word that was made.
  [[nodiscard]] bool lend(life_word& ticket, life_state to = life_state::in_use) noexcept {
    const life_word seen = word();
    if (seen.state() != life_state::idle) {
      return false;
    }
    ticket = seen.with_next_turn().in(to);
    return move(seen, ticket);
  }

  /// in_use or checking -> idle. False: doomed, or the ticket is not the last one.
  [[nodiscard]] bool put_back(life_word ticket) noexcept {
    return !ticket.doomed() && move(ticket, ticket.in(life_state::idle));
  }

  /// in_use or checking -> closing; doomed or not. False: the ticket is not the last one.
  [[nodiscard]] bool begin_closing(life_word ticket) noexcept {
    return move(ticket, ticket.in(life_state::closing)) ||
           move(ticket.with_doom(), ticket.with_doom().in(life_state::closing));
  }

  /// Marks the resource of that birth, wherever it is, to be ended as soon as nobody uses it.
  /// False: it is gone. Any thread, at any time.
  bool doom(std::uint64_t birth) noexcept;

  // ---- ages: written by who holds it, read by all as numbers ------------------------------------

  // relaxed (whole function): only the holder writes; (2) publishes it to the next one
  /// The use has ended at `now`.
  void used_until(nanos now, const life_limits& limits) noexcept {
    last_used_.store(now, std::memory_order_relaxed);
    validated(now, limits);
  }

  // relaxed (whole function): as above
  /// It was validated at `now`: good as if just used, but idle all the same.
  void validated(nanos now, const life_limits& limits) noexcept {
    looked_after_.store(now, std::memory_order_relaxed);
    const nanos stale = later(now, limits.validate_after);
    const nanos expires = expires_.load(std::memory_order_relaxed);
    fresh_until_.store(stale < expires ? stale : expires, std::memory_order_relaxed);
  }

  // relaxed (whole function): as above
  /// It was validated at `now` for whoever takes it next, who does not do so again at the same
  /// time, though it be validated before each use.
  void vetted(nanos now) noexcept {
    const nanos least = std::min(now + 1, expires_.load(std::memory_order_relaxed));
    fresh_until_.store(std::max(fresh_until_.load(std::memory_order_relaxed), least),
                       std::memory_order_relaxed);
  }

  // relaxed (whole function): as above
  /// Counts a use. False: that was the last one it may have.
  [[nodiscard]] bool count_use(std::uint64_t max_uses) noexcept {
    const std::uint64_t uses = uses_.load(std::memory_order_relaxed) + 1;
    uses_.store(uses, std::memory_order_relaxed);
    return uses < max_uses;
  }

  // relaxed (whole function): (1) has shown it to the holder; to others a first look
  /// Whether nothing needs to be looked at before it is used at `now`.
  [[nodiscard]] bool is_fresh(nanos now, std::uint32_t epoch) const noexcept {
    return now < fresh_until_.load(std::memory_order_relaxed) &&
           epoch == epoch_.load(std::memory_order_relaxed);
  }

  // relaxed (whole function): as above
  /// Whether it is too old or was flushed, and must not be put back.
  [[nodiscard]] bool is_over(nanos now, std::uint32_t epoch) const noexcept {
    return now >= expires_.load(std::memory_order_relaxed) ||
           epoch != epoch_.load(std::memory_order_relaxed);
  }

  /// What is to be done with it before it is used, or after.
  [[nodiscard]] verdict judge(nanos now, std::uint32_t epoch) const noexcept;

  // relaxed (whole function): numbers
  [[nodiscard]] nanos idle_for(nanos now) const noexcept {
    return now - last_used_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): numbers
  [[nodiscard]] nanos neglected_for(nanos now) const noexcept {
    return now - looked_after_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): numbers
  [[nodiscard]] std::uint64_t uses() const noexcept {
    return uses_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): numbers
  [[nodiscard]] nanos expires() const noexcept { return expires_.load(std::memory_order_relaxed); }

 private:
  bool move(life_word from, life_word to) noexcept {
    std::uint64_t bits = from.bits();
    // (2) - this seq_cst-CAS synchronizes-with the seq_cst-load (1), so whoever has the resource
    // next sees all that was done to it; and it is in one total order with attention.hpp (1, 2), so
    // that either the releaser sees who waits or who waits sees the resource.
    // relaxed on failure: what is there instead is not looked at, or read again
    return word_.compare_exchange_strong(bits, to.bits(), std::memory_order_seq_cst,
                                         std::memory_order_relaxed);
  }

  atomic<std::uint64_t> word_{0};
  atomic<nanos> fresh_until_{0};
  atomic<nanos> expires_{never};
  atomic<nanos> last_used_{0};
  atomic<nanos> looked_after_{0};
  atomic<std::uint64_t> uses_{0};
  atomic<std::uint32_t> epoch_{0};
};

}  // namespace lido::detail
