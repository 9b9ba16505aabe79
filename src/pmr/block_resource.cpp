#include "lido/pmr/block_resource.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "lido/base/assert.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/platform/compiler.hpp"

namespace lido::inline v0 {

namespace detail {

namespace {

/// Throws if the size or an option is wrong.
void refuse_problem(const block_settings& options, const block_size& size) {
  const block_problem problem = find_problem(options, size);
  refuse_option_if(problem == block_problem::bytes, options.name,
                   {"block_bytes 0 is not at least 1"});
  refuse_option_if(problem == block_problem::alignment, options.name,
                   {"alignment ", std::to_string(options.alignment),
                    " is not a power of two up to ", std::to_string(most_block_alignment)});
  check_option(options.name, "blocks", size.blocks, 1, max_capacity);
  check_option(options.name, "max_cached", options.max_cached, 0, slot_cache::most_items);
  if (problem == block_problem::memory) {
    throw_bad_array_length();
  }
}

}  // namespace

/// Plans the memory of a block_resource. Contains the rounded sizes in ascending order. The blocks
/// of the sizes lie one after another in a single piece of memory of `bytes` bytes. The constructor
/// throws if a size is wrong, before memory for blocks is allocated.
struct block_plan {
  block_plan(const resource_settings& resource, std::span<const block_size> given)
      : alignment(memory_alignment(resource.blocks)) {
    const block_settings& options = resource.blocks;
    if (given.empty()) {
      sizes = {resource.only};
    } else {
      refuse_option_if(resource.only.bytes != 0 || resource.only.blocks != 0, options.name,
                       {"sizes are given beside block_bytes or blocks"});
      sizes.assign(given.begin(), given.end());
    }
    std::sort(sizes.begin(), sizes.end(),
              [](const auto& left, const auto& right) { return left.bytes < right.bytes; });
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      refuse_problem(options, sizes[i]);
      sizes[i].bytes = rounded_bytes(options, sizes[i].bytes);
      refuse_option_if(i != 0 && sizes[i].bytes == sizes[i - 1].bytes, options.name,
                       {"two sizes of ", std::to_string(sizes[i].bytes), " bytes"});
      bytes = add(bytes, sizes[i]);
    }
  }

  /// Returns the offset of the end of the blocks of `size` if they begin at `offset`. The next
  /// blocks may begin there.
  [[nodiscard]] std::size_t add(std::size_t offset, const block_size& size) const {
    const std::size_t more = rounded_up(size.bytes * size.blocks, alignment);
    if (more > PTRDIFF_MAX || offset > PTRDIFF_MAX - more) {
      throw_bad_array_length();
    }
    return offset + more;
  }

  std::vector<block_size> sizes;
  std::size_t alignment;  ///< alignment of all memory
  std::size_t bytes = 0;
};

larger_blocks::~larger_blocks() {
  std::destroy_n(stores_, count_);
}

void larger_blocks::make(const resource_settings& options, const block_plan& plan,
                         std::byte* memory) {
  const std::size_t count = plan.sizes.size() - 1;
  most_listed_ = (std::min)(most_ever_listed, plan.sizes.back().bytes);
  const std::size_t entries = most_listed_ / granule + 1;
  const std::size_t counts = options.use_larger_blocks ? count : 0;
  memory_ = std::make_unique<aligned_buffer>(
      counts * sizeof(striped_count) + count * sizeof(block_store) + entries * sizeof(void*),
      (std::max)(alignof(striped_count), alignof(block_store)));
  auto* const first_count = static_cast<striped_count*>(static_cast<void*>(memory_->data()));
  std::uninitialized_value_construct_n(first_count, counts);
  served_ = counts != 0 ? first_count : nullptr;
  stores_ = static_cast<block_store*>(static_cast<void*>(first_count + counts));
  listed_ = static_cast<block_store**>(static_cast<void*>(stores_ + count));
  std::uninitialized_fill_n(listed_, entries, nullptr);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < count; ++i) {
    offset = plan.add(offset, plan.sizes[i]);
    std::construct_at(stores_ + i, options.blocks, plan.sizes[i + 1], memory + offset);
    ++count_;
    const std::size_t first = (std::min)(plan.sizes[i].bytes / granule + 1, entries);
    const std::size_t last = (std::min)(plan.sizes[i + 1].bytes / granule + 1, entries);
    std::fill(listed_ + first, listed_ + last, stores_ + i);
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

block_resource::block_resource(const detail::resource_settings& options,
                               std::span<const block_size> sizes)
    : block_resource(options, detail::block_plan(options, sizes)) {}

block_resource::block_resource(const detail::resource_settings& options,
                               const detail::block_plan& plan)
    : alignment_(options.blocks.alignment),
      memory_(plan.bytes, plan.alignment),
      smallest_(options.blocks, plan.sizes.front(), memory_.data()),
      upstream_(options.upstream != nullptr ? options.upstream : std::pmr::get_default_resource()),
      overflow_to_upstream_(options.overflow_to_upstream),
      name_(smallest_.name()) {
  if (plan.sizes.size() > 1) {
    larger_.make(options, plan, memory_.data());
  }
  if (options.blocks.registry == nullptr) {
    return;
  }
  const std::string name(name_);
  const auto enter = [&](detail::block_store& store) {
    store.enter(
        *options.blocks.registry,
        plan.sizes.size() == 1 ? name : name + "[" + std::to_string(store.block_bytes()) + "]");
  };
  enter(smallest_);
  for (detail::block_store& store : larger_.all()) {
    enter(store);
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

/// Serves requests for which the table of sizes has no entry. A separate function, so that
/// take_larger calls no other function on a hit.
void* block_resource::take_unlisted(std::size_t bytes, std::size_t alignment) {
  detail::block_store* const store =
      alignment <= alignment_ ? larger_.find_unlisted(bytes) : nullptr;
  if (store == nullptr) {
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

/// Allocates memory upstream. Refuses more than PTRDIFF_MAX bytes itself, because the aligned
/// operator new of libstdc++ 12 rounds such sizes up to 0.
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
  if (bytes > PTRDIFF_MAX) {
    detail::throw_bad_alloc();
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
