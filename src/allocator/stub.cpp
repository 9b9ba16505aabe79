#include <memory>
#include <optional>
#include "lido/allocator/slot_allocator.hpp"
#include "lido/freelist/treiber_stack.hpp"
#include "lido/magazine/slot_source_impl.hpp"
#define segment_memory old_segment_memory
#include "lido/magazine/growing_source_impl.hpp"
#undef segment_memory
namespace lido::detail {
namespace {
alignas(1024) std::byte dummy[(tuning::thread_numbers + 1) * 1024];
cache_choice to(lido::cache_kind k) {
  return k == lido::cache_kind::none     ? cache_choice::none
         : k == lido::cache_kind::locked ? cache_choice::locked
                                         : cache_choice::automatic;
}
struct mem {
  lido::detail::segment_memory* m;
  int commit(slot_index f, std::uint32_t c) noexcept { return m->commit(f, c); }
  template <class N>
  void vacate(slot_index f, std::uint32_t c, const N& n) noexcept {
    work_progress p;
    m->vacate(f, c, p);
    n();
  }
  int decommit(slot_index f, std::uint32_t c) noexcept { return m->decommit(f, c); }
};
}  // namespace
class allocator_state {
 public:
  explicit allocator_state(const allocator_options& o, std::size_t stride)
      : kind(o.caches), mm{o.segments} {
    if (o.segments != nullptr)
      growing.emplace(o.slots, stride, o.capacity, to(o.caches), o.max_cached, mm);
    else
      fixed.emplace(o.slots, o.capacity, to(o.caches), o.max_cached, waiting_choice::allowed);
    cap = o.capacity;
  }
  lido::cache_kind kind;
  mem mm;
  std::uint32_t cap;
  std::optional<slot_source<>> fixed;
  std::optional<growing_source<growing_treiber_stack<>, mem>> growing;
  template <class S>
  void* acq(S& s) {
    return kind == lido::cache_kind::none     ? s.acquire_shared()
           : kind == lido::cache_kind::locked ? s.acquire_locked()
                                              : s.acquire();
  }
  template <class S>
  void rel(S& s, void* p) {
    if (kind == lido::cache_kind::none)
      s.release_shared(p);
    else if (kind == lido::cache_kind::locked)
      s.release_locked(p);
    else
      s.release(p);
  }
  void* get() noexcept { return growing ? acq(*growing) : acq(*fixed); }
  void put(void* p) noexcept { growing ? rel(*growing, p) : rel(*fixed, p); }
};
slot_allocator::slot_allocator(const allocator_options& o)
    : table_(dummy),
      state_(std::make_unique<allocator_state>(
          o, static_cast<std::size_t>(static_cast<std::byte*>(o.slots.address_of(1)) -
                                      static_cast<std::byte*>(o.slots.address_of(0))))) {}
slot_allocator::~slot_allocator() = default;
void* slot_allocator::acquire_slow(slot_cache& c) noexcept {
  c.forget_operation();
  return state_->get();
}
void slot_allocator::release_slow(slot_cache& c, void* s) noexcept {
  c.forget_operation();
  state_->put(s);
}
void* slot_allocator::acquire_without_number() noexcept {
  return state_->get();
}
void slot_allocator::release_without_number(void* s) noexcept {
  state_->put(s);
}
std::size_t slot_allocator::acquire_n(std::span<void*> out) noexcept {
  return state_->growing ? state_->growing->acquire_n(out) : state_->fixed->acquire_n(out);
}
std::size_t slot_allocator::acquire_present_n(std::span<void*> out) noexcept {
  return state_->growing ? state_->growing->acquire_present_n(out) : state_->fixed->acquire_n(out);
}
void slot_allocator::release_n(std::span<void* const> s) noexcept {
  state_->growing ? state_->growing->release_n(s) : state_->fixed->release_n(s);
}
void* slot_allocator::wait_for_slot(waiter& me, const deadline& u) noexcept {
  return state_->growing ? nullptr : state_->fixed->wait_for_slot(me, u);
}
std::size_t slot_allocator::count_waiting() const noexcept {
  return state_->growing ? 0 : state_->fixed->count_waiting();
}
std::uint32_t slot_allocator::capacity() const noexcept {
  return state_->growing ? state_->growing->capacity() : state_->cap;
}
pool_stats slot_allocator::stats() const noexcept {
  return state_->growing ? state_->growing->stats() : state_->fixed->stats();
}
int slot_allocator::reserve(std::uint32_t n, segment_fill* f) {
  if (f == nullptr)
    return state_->growing->reserve(n);
  return state_->growing->reserve(n, [f](slot_index a, std::uint32_t c, const auto& note) {
    work_progress p;
    f->fill(a, c, p);
    note();
  });
}
std::uint32_t slot_allocator::shrink_to(std::uint32_t n) noexcept {
  return state_->growing->shrink_to(n);
}
int slot_allocator::growth_error() const noexcept {
  return state_->growing ? state_->growing->growth_error() : 0;
}
}  // namespace lido::detail
