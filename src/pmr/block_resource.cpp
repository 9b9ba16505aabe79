#include "lido/pmr/block_resource.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <string_view>

#include "lido/base/assert.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/base/option_problem.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0 {

namespace detail {

namespace {

/// Returns the first problem of the size or of an option.
option_problem problem_of(const block_settings& options, const block_size& size) noexcept {
  const block_problem found = find_problem(options, size);
  if (found == block_problem::bytes) {
    return {option_problem::kind::option, {"block_bytes 0 is not at least 1"}};
  }
  if (found == block_problem::alignment) {
    const bool any = options.memory != nullptr;
    return {option_problem::kind::option,
            {"alignment ", digits(options.alignment).view(), " is not a power of two",
             any ? "" : " up to ", any ? "" : digits(most_block_alignment).view()}};
  }
  if (option_problem wrong = out_of_range("blocks", size.blocks, 1, max_capacity)) {
    return wrong;
  }
  if (option_problem wrong =
          out_of_range("max_cached", options.max_cached, 0, slot_cache::most_items)) {
    return wrong;
  }
  return found == block_problem::memory
             ? option_problem(option_problem::kind::size, {"the size of all blocks overflows"})
             : option_problem();
}

}  // namespace

/// Plans the memory of a block_resource: visits the rounded sizes in ascending order, and computes
/// the size of all memory. The blocks of the sizes lie one after another. Allocates nothing.
/// Requires: the settings and the sizes outlive the plan.
class block_plan {
 public:
  block_plan(const resource_settings& resource, std::span<const block_size> given) noexcept
      : options_(resource.blocks),
        sizes_(given.empty() ? std::span(&resource.only, 1) : given),
        alignment_(memory_alignment(resource.blocks)),
        problem_(find_problem(resource, given)) {
    for (block_size size = first(); !problem_ && size.blocks != 0; size = after(size)) {
      bytes_ = end_of(bytes_, size);
    }
  }

  [[nodiscard]] const option_problem& problem() const noexcept { return problem_; }

  // The rest requires that there is no problem.

  [[nodiscard]] std::size_t count() const noexcept { return sizes_.size(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  [[nodiscard]] block_size first() const noexcept { return after({}); }
  /// Returns the smallest rounded size above `last`, or an empty size if there is none.
  [[nodiscard]] block_size after(const block_size& last) const noexcept {
    block_size next;
    for (const block_size& each : sizes_) {
      const std::size_t bytes = problem_ ? 0 : rounded_bytes(options_, each.bytes);
      if (bytes > last.bytes && (next.bytes == 0 || bytes < next.bytes)) {
        next = {bytes, each.blocks};
      }
    }
    return next;
  }
  [[nodiscard]] std::size_t largest() const noexcept {
    std::size_t most = 0;
    for (const block_size& each : sizes_) {
      most = (std::max)(most, rounded_bytes(options_, each.bytes));
    }
    return most;
  }
  /// Returns the offset of the end of the blocks of `size` if they begin at `offset`. The next
  /// blocks may begin there.
  [[nodiscard]] std::size_t end_of(std::size_t offset, const block_size& size) const noexcept {
    return offset + rounded_up(size.bytes * size.blocks, alignment_);
  }

 private:
  [[nodiscard]] option_problem find_problem(const resource_settings& resource,
                                            std::span<const block_size> given) const noexcept {
    if (!given.empty() && (resource.only.bytes != 0 || resource.only.blocks != 0)) {
      return {option_problem::kind::option, {"sizes are given beside block_bytes or blocks"}};
    }
    std::size_t bytes = 0;
    for (const block_size& each : sizes_) {
      if (option_problem found = problem_of(options_, each)) {
        return found;
      }
      const std::size_t rounded = rounded_bytes(options_, each.bytes);
      if (has_before(each, rounded)) {
        return {option_problem::kind::option, {"two sizes of ", digits(rounded).view(), " bytes"}};
      }
      const std::size_t more = rounded_up(rounded * each.blocks, alignment_);
      if (more > PTRDIFF_MAX || bytes > PTRDIFF_MAX - more) {
        return {option_problem::kind::size, {"the size of all blocks overflows"}};
      }
      bytes += more;
    }
    return {};
  }

  /// Returns true if a size that is listed before `one` is also rounded up to `rounded` bytes.
  [[nodiscard]] bool has_before(const block_size& one, std::size_t rounded) const noexcept {
    return std::any_of(sizes_.data(), &one, [&](const block_size& other) {
      return rounded_bytes(options_, other.bytes) == rounded;
    });
  }

  const block_settings& options_;
  std::span<const block_size> sizes_;
  std::size_t alignment_;  ///< alignment of all memory
  option_problem problem_;
  std::size_t bytes_ = 0;
};

larger_blocks::~larger_blocks() {
  std::destroy_n(stores_, count_);
}

/// The division of the memory of larger_blocks.
struct larger_blocks::parts {
  std::size_t stores;   ///< number of sizes except the smallest
  std::size_t counts;   ///< number of counts of served requests
  std::size_t entries;  ///< number of entries of the list

  static constexpr std::size_t alignment = (std::max)(alignof(striped_count), alignof(block_store));
  [[nodiscard]] std::size_t bytes() const noexcept {
    return counts * sizeof(striped_count) + stores * sizeof(block_store) + entries * sizeof(void*);
  }
};

larger_blocks::parts larger_blocks::parts_for(const resource_settings& options,
                                              const block_plan& plan) noexcept {
  const std::size_t stores = plan.count() - 1;
  return {stores, options.use_larger_blocks ? stores : 0,
          (std::min)(most_ever_listed, plan.largest()) / granule + 1};
}

void larger_blocks::take_tables(memory_cursor& memory, const resource_settings& options,
                                const block_plan& plan) noexcept {
  (void)memory.take(parts_for(options, plan).bytes(), parts::alignment);
  const block_size smallest = plan.first();
  for (block_size size = plan.after(smallest); size.blocks != 0; size = plan.after(size)) {
    block_store::take_tables(memory, options.blocks, size);
  }
}

void larger_blocks::make(const resource_settings& options, const block_plan& plan,
                         std::byte* memory, memory_cursor* own) {
  const parts in = parts_for(options, plan);
  most_listed_ = (std::min)(most_ever_listed, plan.largest());
  memory_ =
      own == nullptr ? std::make_unique<aligned_buffer>(in.bytes(), parts::alignment) : nullptr;
  std::byte* const begin =
      own == nullptr ? memory_->data() : own->take(in.bytes(), parts::alignment);
  auto* const first_count = static_cast<striped_count*>(static_cast<void*>(begin));
  std::uninitialized_value_construct_n(first_count, in.counts);
  served_ = in.counts != 0 ? first_count : nullptr;
  stores_ = static_cast<block_store*>(static_cast<void*>(first_count + in.counts));
  listed_ = static_cast<block_store**>(static_cast<void*>(stores_ + in.stores));
  std::uninitialized_fill_n(listed_, in.entries, nullptr);
  block_size smaller = plan.first();
  std::size_t offset = plan.end_of(0, smaller);
  for (block_size size = plan.after(smaller); size.blocks != 0; size = plan.after(size)) {
    block_store* const store = stores_ + count_;
    std::construct_at(store, options.blocks, size, memory + offset, own);
    ++count_;
    const std::size_t first = (std::min)(smaller.bytes / granule + 1, in.entries);
    const std::size_t last = (std::min)(size.bytes / granule + 1, in.entries);
    std::fill(listed_ + first, listed_ + last, store);
    offset = plan.end_of(offset, size);
    smaller = size;
  }
}

inline block_store* larger_blocks::find_listed(std::size_t bytes) const noexcept {
  return bytes <= most_listed_ ? listed_[(bytes + granule - 1) / granule] : nullptr;
}

block_store* larger_blocks::find_unlisted(std::size_t bytes) const noexcept {
  for (block_store& each : all()) {
    if (bytes > most_listed_ && bytes <= each.block_bytes()) {
      return &each;
    }
  }
  return nullptr;
}

void* larger_blocks::take_instead_of(std::size_t size, std::size_t bytes,
                                     code_address at) noexcept {
  for (block_store& each : all().subspan(size)) {
    void* block = nullptr;
    if (!each.try_hit(block, bytes)) {
      block = each.acquire_after_miss(bytes, at);
    }
    if (block != nullptr) {
      served_[size].add_one();
      return block;
    }
  }
  return nullptr;
}

std::uint64_t larger_blocks::count_served(std::size_t size) const noexcept {
  return serve_smaller() && size < count_ ? served_[size].sum() : 0;
}

namespace {

/// Returns the address at which the function that this one is inlined into was called.
[[nodiscard, LIDO_ALWAYS_INLINE]] inline code_address caller() noexcept {
  return {call_address()};
}

}  // namespace
}  // namespace detail

namespace {

/// Throws if there is a problem, and returns the plan.
const detail::block_plan& checked(const detail::block_plan& plan,
                                  const detail::resource_settings& options) {
  detail::throw_if(plan.problem(), options.blocks.name);
  return plan;
}

/// Returns what the resource needs from a memory_source. Each part is taken here in the same order
/// as in the constructor.
detail::memory_cursor parts_needed(const detail::resource_settings& options,
                                   const detail::block_plan& plan) noexcept {
  detail::memory_cursor all;
  (void)all.take(plan.bytes(), plan.alignment());
  detail::block_store::take_tables(all, options.blocks, plan.first());
  const bool several = plan.count() > 1;
  if (several) {
    detail::larger_blocks::take_tables(all, options, plan);
  }
  if (options.blocks.registry != nullptr) {
    for (block_size size = plan.first(); size.blocks != 0; size = plan.after(size)) {
      detail::block_store::take_entry(all, options.blocks.name, size.bytes, several);
    }
  }
  return all;
}

/// Returns the memory of all blocks: the program's if there is any, or the system's. Throws a
/// std::bad_alloc that names the resource.
detail::aligned_buffer memory_for(const detail::block_plan& plan, detail::memory_cursor& own,
                                  std::string_view name) {
  if (own.has_memory()) {
    return {own.take(plan.bytes(), plan.alignment()), plan.bytes()};
  }
  return {plan.bytes(), plan.alignment(), name};
}

}  // namespace

std::size_t block_resource::bytes_needed(const detail::resource_settings& options,
                                         std::span<const block_size> sizes) noexcept {
  const detail::block_plan plan(options, sizes);
  LIDO_ASSERT(!plan.problem(), "bytes_needed with options that no resource can have");
  return parts_needed(options, plan).bytes();
}

option_problem block_resource::find_problem(const detail::resource_settings& options,
                                            std::span<const block_size> sizes) noexcept {
  const detail::block_plan plan(options, sizes);
  return plan.problem() || options.blocks.memory == nullptr
             ? plan.problem()
             : detail::too_little_memory(options.blocks.memory, parts_needed(options, plan));
}

block_resource::block_resource(const detail::resource_settings& options,
                               std::span<const block_size> sizes)
    : block_resource(options, detail::block_plan(options, sizes), detail::memory_cursor()) {}

block_resource::block_resource(const detail::resource_settings& options,
                               const detail::block_plan& plan, detail::memory_cursor own)
    : alignment_(options.blocks.alignment),
      piece_(options.blocks.memory, parts_needed(options, checked(plan, options)),
             options.blocks.name, own),
      memory_(memory_for(plan, own, options.blocks.name)),
      smallest_(options.blocks, plan.first(), memory_.data(), own.has_memory() ? &own : nullptr),
      upstream_(options.upstream != nullptr ? options.upstream : std::pmr::get_default_resource()),
      overflow_to_upstream_(options.overflow_to_upstream),
      name_(smallest_.name()) {
  detail::memory_cursor* const from = own.has_memory() ? &own : nullptr;
  const bool several = plan.count() > 1;
  if (several) {
    larger_.make(options, plan, memory_.data(), from);
  }
  if (options.blocks.registry == nullptr) {
    return;
  }
  smallest_.enter(*options.blocks.registry, several, from);
  for (detail::block_store& store : larger_.all()) {
    store.enter(*options.blocks.registry, several, from);
  }
}

void* block_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
  return take(bytes, alignment);
}

void block_resource::do_deallocate(void* address, std::size_t bytes, std::size_t alignment) {
  give(address, bytes, alignment);
}

bool block_resource::do_is_equal(const memory_resource& other) const noexcept {
  return this == &other;
}

template <class Resource, class Fits>
auto block_resource::first(Resource& resource, const Fits& fits) noexcept
    -> decltype(&resource.smallest_) {
  if (fits(resource.smallest_)) {
    return &resource.smallest_;
  }
  const std::span<detail::block_store> larger = resource.larger_.all();
  const auto found = std::find_if(larger.begin(), larger.end(), fits);
  return found != larger.end() ? &*found : nullptr;
}

bool block_resource::owns(const void* address) const noexcept {
  return first(*this, [&](const detail::block_store& one) { return one.owns(address); }) != nullptr;
}

void block_resource::release() noexcept {
  const detail::code_address at = detail::caller();
  smallest_.release_all(at);
  for (detail::block_store& store : larger_.all()) {
    store.release_all(at);
  }
}

std::size_t block_resource::count_sizes() const noexcept {
  return 1 + larger_.all().size();
}

std::uint64_t block_resource::upstream_requests() const noexcept {
  std::uint64_t requests = misfits_.sum();
  if (overflow_to_upstream_ && !larger_.serve_smaller()) {
    requests += smallest_.overflowed();
    for (const detail::block_store& store : larger_.all()) {
      requests += store.overflowed();
    }
  }
  return requests;
}

block_stats block_resource::stats(std::size_t size) const noexcept {
  LIDO_ASSERT(size < count_sizes(), "stats of a size that a block_resource does not have");
  const detail::block_store& store = size == 0 ? smallest_ : larger_.all()[size - 1];
  block_stats stats;
  stats.block_bytes = store.block_bytes();
  stats.blocks = store.stats();
  stats.overflowed = stats.blocks.exhausted;
  stats.served_by_larger = larger_.count_served(size);
  stats.upstream_requests = upstream_requests();
  // relaxed: a number for statistics
  stats.largest_upstream = largest_upstream_.load(std::memory_order_relaxed);
  return stats;
}

/// Returns the store with the smallest blocks of at least `bytes` bytes, or null if there is none.
detail::block_store* block_resource::find_store(std::size_t bytes) noexcept {
  if (bytes <= smallest_.block_bytes()) {
    return &smallest_;
  }
  detail::block_store* const listed = larger_.find_listed(bytes);
  return listed != nullptr ? listed : larger_.find_unlisted(bytes);
}

/// Serves requests that do not fit into the smallest blocks.
void* block_resource::take_larger(std::size_t bytes, std::size_t alignment) {
  detail::block_store* const store = alignment <= alignment_ ? larger_.find_listed(bytes) : nullptr;
  if (store == nullptr) [[unlikely]] {
    return take_unlisted(bytes, alignment);
  }
  if (void* block = nullptr; store->try_hit(block, bytes)) [[likely]] {
    return block;
  }
  return take_after_miss(*store, bytes, alignment);
}

/// The size of the largest request that is sent upstream. Larger requests are refused here, because
/// the aligned operator new of libstdc++ 12 rounds such sizes up to 0.
constexpr std::size_t most_upstream = PTRDIFF_MAX;

/// Serves requests for which the table of sizes has no entry. A separate function, so that
/// take_larger calls no other function on a hit.
void* block_resource::take_unlisted(std::size_t bytes, std::size_t alignment) {
  detail::block_store* const store =
      alignment <= alignment_ ? larger_.find_unlisted(bytes) : nullptr;
  if (store == nullptr) {
    if (bytes > most_upstream) {
      throw_no_block(bytes, alignment);
    }
    misfits_.add_one();
    return take_upstream(bytes, alignment);
  }
  void* block = nullptr;
  return store->try_hit(block, bytes) ? block : take_after_miss(*store, bytes, alignment);
}

void* block_resource::take_after_miss(detail::block_store& store, std::size_t bytes,
                                      std::size_t alignment) {
  if (void* const block = take_past_cache(store, bytes, detail::caller()); block != nullptr) {
    return block;
  }
  if (!overflow_to_upstream_) {
    throw_no_block(bytes, alignment);
  }
  return take_upstream(bytes, alignment);
}

/// Returns a block of `store`, after a miss in the thread's cache, or a larger block if the options
/// allow that. Returns null if there is none. If it returns null, the caller either refuses the
/// request or sends it upstream.
void* block_resource::take_past_cache(detail::block_store& store, std::size_t bytes,
                                      detail::code_address at) noexcept {
  void* block = store.acquire_after_miss(bytes, at);
  if (block == nullptr && larger_.serve_smaller()) {
    const std::size_t size =
        &store == &smallest_ ? 0 : static_cast<std::size_t>(&store - larger_.all().data()) + 1;
    block = larger_.take_instead_of(size, bytes, at);
    if (block == nullptr && overflow_to_upstream_) {
      misfits_.add_one();
    }
  }
  return block;
}

void* block_resource::try_take_after_miss(std::size_t bytes, std::size_t alignment) noexcept {
  const detail::code_address at = detail::caller();
  detail::block_store* const store = alignment <= alignment_ ? find_store(bytes) : nullptr;
  void* block = nullptr;
  if (store == nullptr) {
    if (bytes > most_upstream) {
      return nullptr;
    }
    misfits_.add_one();
  } else {
    const bool hit = store != &smallest_ && store->try_hit(block, bytes);
    block = hit ? block : take_past_cache(*store, bytes, at);
    if (block != nullptr || !overflow_to_upstream_) {
      return block;
    }
  }
  detail::attempt([&] { block = ask_upstream(bytes, alignment); }, [] {});
  return block;
}

/// Allocates memory upstream. Requires: `bytes` is at most most_upstream.
void* block_resource::ask_upstream(std::size_t bytes, std::size_t alignment) {
  // relaxed: a number for statistics
  std::size_t largest = largest_upstream_.load(std::memory_order_relaxed);
  while (largest < bytes) {
    // relaxed (2x): as above
    if (largest_upstream_.compare_exchange_weak(largest, bytes, std::memory_order_relaxed,
                                                std::memory_order_relaxed)) {
      break;
    }
  }
  return upstream_->allocate(bytes, alignment);
}

void* block_resource::take_upstream(std::size_t bytes, std::size_t alignment) {
#if defined(__cpp_exceptions)
  try {
    return ask_upstream(bytes, alignment);
  } catch (const no_block&) {
    throw;  // the exception already names an upstream that is a block_resource
  } catch (const std::bad_alloc&) {
    throw_no_block(bytes, alignment);
  }
#else
  return ask_upstream(bytes, alignment);
#endif
}

void block_resource::throw_no_block(std::size_t bytes, std::size_t alignment) const {
  const detail::block_store* const store = first(*this, [&](const detail::block_store& one) {
    return bytes <= one.block_bytes() && alignment <= alignment_;
  });
  const slot_pool_stats blocks = store != nullptr ? store->stats() : slot_pool_stats();
  detail::throw_error(no_block(name_, bytes, alignment, blocks.capacity, blocks.in_use));
}

/// Releases to the store that contains `address`. `bytes` is only a hint, so a wrong value does no
/// harm.
void block_resource::give_larger(void* address, std::size_t bytes, std::size_t alignment) {
  detail::block_store* const store = larger_.find_listed(bytes);
  if (store != nullptr && store->may_hit(address)) [[likely]] {
    store->release(address);
  } else {
    give_other(address, bytes, alignment, detail::caller());
  }
}

void block_resource::give_other(void* address, std::size_t bytes, std::size_t alignment,
                                detail::code_address at) {
  for (detail::block_store& store : larger_.all()) {
    if (store.may_hit(address)) {
      store.release(address);
      return;
    }
  }
  if (smallest_.is_checked()) [[unlikely]] {
    give_checked(address, bytes, alignment, at);
  } else {
    upstream_->deallocate(address, bytes, alignment);
  }
}

/// Releases `address` in a checked resource. Passes an address outside all blocks to upstream. If
/// upstream cannot have allocated the address, a store of blocks reports the misuse instead.
void block_resource::give_checked(void* address, std::size_t bytes, std::size_t alignment,
                                  detail::code_address at) {
  detail::block_store* store =
      first(*this, [&](const detail::block_store& one) { return one.owns(address); });
  if (store == nullptr && !overflow_to_upstream_ && alignment <= alignment_) {
    store =
        first(*this, [&](const detail::block_store& one) { return bytes <= one.block_bytes(); });
  }
  if (store != nullptr) {
    (void)store->release_checked(address, at);
  } else {
    upstream_->deallocate(address, bytes, alignment);
  }
}

}  // namespace lido::inline v0
