/// @file
/// Internal. A place for a resource, who has it, and what can be done with it without knowing R.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>

#include "lido/concurrency/atomic.hpp"
#include "lido/debug/place.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/resource_life.hpp"
#include "lido/resource/stats.hpp"

namespace lido::detail {

class resource_core;
class resource_slot;

/// A factory, whatever its type. Called without locks. A thread that is cancelled (pthread_cancel)
/// within its functions notices behind them: most are called where nothing may be thrown.
class resource_hooks {
 public:
  /// Throws std::bad_alloc.
  resource_hooks(bool validates, bool resets) : validates_(validates), resets_(resets) {}
  resource_hooks(const resource_hooks&) = delete;
  resource_hooks& operator=(const resource_hooks&) = delete;
  virtual ~resource_hooks() = default;

  /// Throws what the factory throws.
  void create(resource_slot& slot, const create_context& context);
  [[nodiscard]] bool validate(resource_slot& slot, const create_context& context) noexcept;
  [[nodiscard]] bool reset(resource_slot& slot) noexcept;
  /// With the destructor of R.
  void destroy(resource_slot& slot, destroy_reason reason) noexcept;

  [[nodiscard]] bool can_validate() const noexcept { return validates_; }
  [[nodiscard]] bool can_reset() const noexcept { return resets_; }

  /// Nobody needs what is under way: the pool was closed, or has another factory by now.
  void stop() noexcept { (void)stop_.request_stop(); }
  [[nodiscard]] std::stop_token stop_token() const noexcept { return stop_.get_token(); }

 private:
  virtual void do_create(resource_slot& slot, const create_context& context) = 0;
  [[nodiscard]] virtual bool do_validate(resource_slot& slot,
                                         const create_context& context) noexcept = 0;
  [[nodiscard]] virtual bool do_reset(resource_slot& slot) noexcept = 0;
  virtual void do_destroy(resource_slot& slot, destroy_reason reason) noexcept = 0;

  std::stop_source stop_;
  bool validates_;
  bool resets_;
};

/// Marks on a lease. They lie in one word with the lease they are of, so that a new lease clears
/// them at once, and what is meant for one lease does not reach the next. The bits above them, up
/// to half of the word, count the time that its holder has asked for, four milliseconds each.
enum lease_mark : std::uint32_t {
  reported_slow = 1,
  reported_leak = 2,
  exempt_lease = 4,
  ended_lease = 8  ///< given back; what its resource still needs is not its holder's affair
};
inline constexpr unsigned lease_shift = 32;
inline constexpr unsigned extension_shift = 4;
inline constexpr nanos extension_unit = 4'000'000;
inline constexpr std::int64_t longest_extension = 0xFFFF'FFFFU >> extension_shift;

class resource_slot : public resource_life {
 public:
  // ---- who has it: written by the holder, read by all as numbers --------------------------------

  // relaxed (whole function): numbers for reports
  void note_holder(nanos now, std::uint32_t thread, place at, life_word ticket) noexcept {
    held_since_.store(now, std::memory_order_relaxed);
    thread_.store(thread, std::memory_order_relaxed);
    address_.store(at.address, std::memory_order_relaxed);
    marks_.store(std::uint64_t{ticket.lease()} << lease_shift, std::memory_order_relaxed);
  }
  /// On its way to who waits, who holds it once it is fit; no lease is too long until then.
  // relaxed (whole function): as above
  void note_receiver(std::uint32_t thread) noexcept {
    thread_.store(thread, std::memory_order_relaxed);
    address_.store(nullptr, std::memory_order_relaxed);
  }
  /// Before others may have it, so that nobody takes its next lease for this one.
  // relaxed (whole function): as above; resource_life.hpp (2) publishes it
  void forget_holder() noexcept {
    held_since_.store(never, std::memory_order_relaxed);
    thread_.store(0, std::memory_order_relaxed);
    marks_.store(0, std::memory_order_relaxed);
  }
  // relaxed (whole function): as above
  void forget_thread() noexcept { thread_.store(0, std::memory_order_relaxed); }
  // relaxed (whole function): as above
  [[nodiscard]] std::uint32_t thread() const noexcept {
    return thread_.load(std::memory_order_relaxed);
  }
  // relaxed (whole function): as above
  [[nodiscard]] nanos held_for(nanos now) const noexcept {
    const nanos since = held_since_.load(std::memory_order_relaxed);
    return since == never ? 0 : std::max<nanos>(now - since, 0);
  }
  // relaxed (whole function): as above
  [[nodiscard]] std::uint32_t marks() const noexcept {
    return static_cast<std::uint32_t>(marks_.load(std::memory_order_relaxed));
  }
  /// Only the holder: no reports of this lease.
  // relaxed (whole function): as above
  void exempt() noexcept { (void)marks_.fetch_or(exempt_lease, std::memory_order_relaxed); }
  /// Only the holder, who has ended it: no reports of this lease from now on. Its marks, and which
  /// lease it is.
  // relaxed (whole function): as above
  std::pair<std::uint32_t, std::uint32_t> end_reports() noexcept {
    const std::uint64_t found = marks_.fetch_or(ended_lease, std::memory_order_relaxed);
    return {static_cast<std::uint32_t>(found), static_cast<std::uint32_t>(found >> lease_shift)};
  }
  /// Marks that lease. False: it has ended, or bears one of `unless` already.
  // relaxed (whole function): as above; which lease it is of is in the word itself
  [[nodiscard]] bool mark(life_word lease, std::uint32_t marks, std::uint32_t unless) noexcept {
    std::uint64_t seen = marks_.load(std::memory_order_relaxed);
    while (seen >> lease_shift == lease.lease() && (seen & unless) == 0) {
      if (marks_.compare_exchange_weak(seen, seen | marks, std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  /// Only the holder: reports of this lease come so much later.
  void extend(std::chrono::nanoseconds by) noexcept {
    const std::int64_t before = marks() >> extension_shift;
    const std::int64_t more =
        by.count() / extension_unit + (by.count() % extension_unit > 0 ? 1 : 0);
    const std::int64_t most = longest_extension - before;
    const auto added = static_cast<std::uint64_t>(std::clamp<std::int64_t>(more, 0, most));
    // relaxed: as above; others only set the marks below
    (void)marks_.fetch_add(added << extension_shift, std::memory_order_relaxed);
  }
  [[nodiscard]] nanos extension() const noexcept {
    return nanos{marks() >> extension_shift} * extension_unit;
  }
  /// Of one in use, as far as can be told while it goes on being used.
  [[nodiscard]] lease_info info(nanos now) const noexcept;
  /// The same of one that may not be in use; false if it is not, or in another lease by now.
  [[nodiscard]] bool is_lent(life_word lease, nanos now, lease_info& found) const noexcept;

  // ---- of the pool: constant, or of who brought it into its state -------------------------------

  // NOLINTBEGIN(*-non-private-member-variables-in-classes): the pool's, which the slot is part of
  resource_core* core = nullptr;
  resource_hooks* maker = nullptr;  ///< made what is here
  std::uint32_t number = 0;
  // NOLINTEND(*-non-private-member-variables-in-classes)

 private:
  atomic<nanos> held_since_{never};
  atomic<const void*> address_{nullptr};
  atomic<std::uint32_t> thread_{0};
  atomic<std::uint64_t> marks_{0};
};

/// Slots that were made together. They stay where they are until the pool ends.
class slot_block {
 public:
  // Slots lie as far apart as those of their R, which this class does not know.
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast)
  slot_block(resource_slot* first, std::size_t stride, std::uint32_t size) noexcept
      : first_(reinterpret_cast<std::byte*>(first)), stride_(stride), size_(size) {}
  slot_block(const slot_block&) = delete;
  slot_block& operator=(const slot_block&) = delete;
  virtual ~slot_block() = default;

  [[nodiscard]] resource_slot& operator[](std::uint32_t index) const noexcept {
    return *reinterpret_cast<resource_slot*>(first_ + stride_ * index);
  }
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

  /// The first slot for which `f(slot)` is true, or null.
  template <class F>
  [[nodiscard]] resource_slot* find(const F& f) const {
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (f((*this)[i])) {
        return &(*this)[i];
      }
    }
    return nullptr;
  }

  [[nodiscard]] slot_block* next() const noexcept {
    // (1) - this acquire-load synchronizes-with the release-store (2), so the slots are visible
    return next_.load(std::memory_order_acquire);
  }
  /// Once.
  void append(std::unique_ptr<slot_block> block) noexcept {
    // (2) - this release-store synchronizes-with the acquire-load (1)
    next_.store(block.get(), std::memory_order_release);
    owned_ = std::move(block);
  }

 private:
  std::byte* first_;
  std::size_t stride_;
  std::uint32_t size_;
  atomic<slot_block*> next_{nullptr};
  std::unique_ptr<slot_block> owned_;
};

using block_maker = std::unique_ptr<slot_block> (*)(std::uint32_t size);

}  // namespace lido::detail
