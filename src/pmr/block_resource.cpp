#include "lido/pmr/block_resource.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include "lido/base/fail.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/registry.hpp"
#include "lido/debug/slot_checks.hpp"

namespace lido {

namespace detail {

namespace {

constexpr std::size_t most_alignment = 4096;

void require(bool right, const block_settings& options, const std::string& problem) {
  if (!right) {
    throw_invalid_option(options.name, problem);
  }
}

/// Bytes of a block. Refuses a wrong size before any memory is allocated.
std::size_t rounded_bytes(const block_settings& options, const block_size& size) {
  require(size.bytes > 0, options, "block_bytes 0 is not at least 1");
  require(std::has_single_bit(options.alignment) && options.alignment <= most_alignment, options,
          "alignment " + std::to_string(options.alignment) + " is not a power of two up to " +
              std::to_string(most_alignment));
  require(size.blocks > 0 && size.blocks <= max_capacity, options,
          "blocks " + std::to_string(size.blocks) + " is not between 1 and " +
              std::to_string(max_capacity));
  require(options.max_cached <= slot_cache::most_items, options,
          "max_cached " + std::to_string(options.max_cached) + " is more than " +
              std::to_string(slot_cache::most_items));
  const std::size_t unit = std::max(options.alignment, granule);
  if (size.bytes > PTRDIFF_MAX / size.blocks - unit) {
    throw_bad_array_length();
  }
  return (size.bytes + unit - 1) / unit * unit;
}

std::vector<block_size> sorted_sizes(const block_settings& options,
                                     std::span<const block_size> given) {
  if (given.empty()) {
    return {options.only};
  }
  require(options.only.bytes == 0 && options.only.blocks == 0, options,
          "sizes are given beside block_bytes or blocks");
  std::vector<block_size> sizes(given.begin(), given.end());
  std::sort(sizes.begin(), sizes.end(),
            [](const auto& left, const auto& right) { return left.bytes < right.bytes; });
  return sizes;
}

}  // namespace

/// The slots need a name that outlives them.
struct block_checks {
  block_checks(std::string_view of, std::byte* first, std::uint32_t blocks, std::size_t bytes)
      : name(of), slots(name, first, blocks, bytes, {bytes, fill_pattern::least_whole}) {}

  const std::string name;
  checked_slots slots;
};

block_store::block_store(const block_settings& options, block_size size)
    : block_bytes_(rounded_bytes(options, size)),
      memory_(block_bytes_ * size.blocks, std::max(options.alignment, cache_line)),
      first_(std::bit_cast<std::uintptr_t>(memory_.data())),
      unchecked_bytes_(options.checked ? 0 : memory_.size()),
      poisons_(LIDO_POISON_FREE_SLOTS != 0),
      slots_({.geometry = slot_geometry(memory_.data(), block_bytes_),
              .capacity = static_cast<std::uint32_t>(size.blocks),
              .caches = options.checked ? cache_kind::none : cache_kind::revocable,
              .max_cached = static_cast<std::uint32_t>(options.max_cached),
              .name = options.name}) {
  if (options.checked) {
    checks_ = std::make_unique<block_checks>(options.name, memory_.data(),
                                             static_cast<std::uint32_t>(size.blocks), block_bytes_);
  }
  poison(memory_.data(), memory_.size());
}

block_store::~block_store() {
  entry_.reset();
  unpoison(memory_.data(), memory_.size());
  checks_.reset();  // looks at all blocks
}

void* block_store::acquire_after_miss(std::size_t wanted, place at) noexcept {
  void* const block = slots_.acquire_after_miss();
  if (block == nullptr) {
    // relaxed: a number for statistics
    overflowed_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (is_checked()) {
    unpoison(block, block_bytes_);
    checks_->slots.begin_use(block, at);
    poison(block, block_bytes_);
  }
  open(block, wanted);
  return block;
}

void block_store::release_checked(void* block, place at) noexcept {
  if (checks_->slots.try_end_use(block, at)) {
    unpoison(block, block_bytes_);
    checks_->slots.watch(block);
    release(block);
  }
}

block_stats block_store::stats() const noexcept {
  block_stats stats;
  stats.block_bytes = block_bytes_;
  stats.blocks = slots_.stats();
  stats.blocks.total_bytes += is_checked() ? checks_->slots.memory() : 0;
  // relaxed: a number for statistics
  stats.overflowed = overflowed_.load(std::memory_order_relaxed);
  return stats;
}

void block_store::enter(registry& where, std::string_view name) {
  entry_ = std::make_unique<registration>(
      where, "block_resource", name,
      [](void* store, pool_report& out) {
        out.stats = static_cast<const block_store*>(store)->stats().blocks;
      },
      this);
}

block_store& block_store::add_larger(const block_settings& options, block_size size) {
  larger_ = std::make_unique<block_store>(options, size);
  require(larger_->block_bytes() != block_bytes(), options,
          "two sizes of " + std::to_string(block_bytes()) + " bytes");
  return *larger_;
}

namespace {

/// The first of a chain that fits; null if there is none.
template <class Fits>
[[nodiscard]] block_store* first(block_store* store, const Fits& fits) noexcept {
  while (store != nullptr && !fits(*store)) {
    store = store->larger();
  }
  return store;
}

[[nodiscard]] block_store* first_for(block_store* store, std::size_t bytes) noexcept {
  return first(store, [&](const block_store& one) { return bytes <= one.block_bytes(); });
}

/// Where the function was called that this is inlined into.
[[nodiscard, gnu::always_inline]] inline place caller() noexcept {
  return {static_cast<const char*>(__builtin_return_address(0)) - 1};
}

[[nodiscard]] block_store* owner_of(const void* address, block_store* store) noexcept {
  return first(store, [&](const block_store& one) { return one.owns(address); });
}

}  // namespace
}  // namespace detail

block_resource::block_resource(const detail::block_settings& options,
                               std::span<const block_size> sizes)
    : alignment_(options.alignment),
      smallest_(options, detail::sorted_sizes(options, sizes).front()),
      upstream_(options.upstream != nullptr ? options.upstream : std::pmr::get_default_resource()),
      overflow_to_upstream_(options.overflow_to_upstream),
      name_(smallest_.name()) {
  const std::vector<block_size> sorted = detail::sorted_sizes(options, sizes);
  detail::block_store* largest = &smallest_;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    largest = &largest->add_larger(options, sorted[i]);
  }
  if (largest != &smallest_) {
    table_ = std::make_unique<table>();
    for (std::size_t i = 0; i < table_->size(); ++i) {
      (*table_)[i] = detail::first_for(&smallest_, i * detail::granule);
    }
  }
  auto* const one = options.registry != nullptr ? &smallest_ : nullptr;
  for (detail::block_store* store = one; store != nullptr; store = store->larger()) {
    const std::string name(name_);
    store->enter(*options.registry, largest == &smallest_
                                        ? name
                                        : name + "[" + std::to_string(store->block_bytes()) + "]");
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

bool block_resource::owns(const void* address) const noexcept {
  return smallest_.owns(address) || detail::owner_of(address, smallest_.larger()) != nullptr;
}

std::size_t block_resource::count_sizes() const noexcept {
  std::size_t count = 0;
  for (const auto* store = &smallest_; store != nullptr; store = store->larger()) {
    ++count;
  }
  return count;
}

block_stats block_resource::stats(std::size_t size) const noexcept {
  const detail::block_store* store = &smallest_;
  for (; size > 0; --size) {
    store = store->larger();
  }
  block_stats stats = store->stats();
  stats.upstream_requests = upstream_requests();
  // relaxed: a number for statistics
  stats.largest_upstream = largest_upstream_.load(std::memory_order_relaxed);
  return stats;
}

/// The smallest blocks for a request; null if there are none. Requires: several sizes.
inline detail::block_store* block_resource::find(std::size_t bytes) noexcept {
  return bytes <= most_tabled ? (*table_)[(bytes + detail::granule - 1) / detail::granule]
                              : detail::first_for(&smallest_, bytes);
}

/// For what does not fit into the smallest blocks.
void* block_resource::take_larger(std::size_t bytes, std::size_t alignment) {
  detail::block_store* const store =
      table_ != nullptr && alignment <= alignment_ ? find(bytes) : nullptr;
  if (store == nullptr) [[unlikely]] {
    return take_upstream(bytes, alignment);
  }
  if (void* block = nullptr; store->try_hit(block, bytes)) [[likely]] {
    return block;
  }
  return take_after_miss(*store, bytes, alignment);
}

void* block_resource::take_after_miss(detail::block_store& store, std::size_t bytes,
                                      std::size_t alignment) {
  if (void* const block = store.acquire_after_miss(bytes, detail::caller()); block != nullptr) {
    return block;
  }
  if (!overflow_to_upstream_) {
    throw_no_block(bytes, alignment);
  }
  return take_upstream(bytes, alignment);
}

void* block_resource::take_upstream(std::size_t bytes, std::size_t alignment) {
  // relaxed (2x): numbers for statistics
  upstream_requests_.fetch_add(1, std::memory_order_relaxed);
  std::size_t largest = largest_upstream_.load(std::memory_order_relaxed);
  while (largest < bytes) {
    // relaxed (2x): as above
    if (largest_upstream_.compare_exchange_weak(largest, bytes, std::memory_order_relaxed,
                                                std::memory_order_relaxed)) {
      break;
    }
  }
#if defined(__cpp_exceptions)
  try {
    return upstream_->allocate(bytes, alignment);
  } catch (const no_block&) {
    throw;  // of an upstream that is a block_resource, too: says which one
  } catch (const std::bad_alloc&) {
    throw_no_block(bytes, alignment);
  }
#else
  return upstream_->allocate(bytes, alignment);
#endif
}

void block_resource::throw_no_block(std::size_t bytes, std::size_t alignment) const {
  const detail::block_store* store = &smallest_;
  while (store != nullptr && (bytes > store->block_bytes() || alignment > alignment_)) {
    store = store->larger();
  }
  const pool_stats blocks = store != nullptr ? store->stats().blocks : pool_stats();
  detail::throw_error(no_block(name_, bytes, alignment, blocks.capacity, blocks.in_use));
}

/// The size is a hint of where the address is from. The address decides, so that a wrong size does
/// no harm.
void block_resource::give_larger(void* address, std::size_t bytes, std::size_t alignment) {
  detail::block_store* store = table_ != nullptr ? find(bytes) : nullptr;
  if (store == nullptr || !store->may_hit(address)) [[unlikely]] {
    store = detail::first(smallest_.larger(), [&](auto& one) { return one.may_hit(address); });
  }
  if (store != nullptr) [[likely]] {
    store->release(address);
  } else {
    give_other(address, bytes, alignment, detail::caller());
  }
}

/// For what is upstream's, or checked.
void block_resource::give_other(void* address, std::size_t bytes, std::size_t alignment,
                                detail::place at) {
  detail::block_store* store = detail::owner_of(address, &smallest_);
  if (store == nullptr && smallest_.is_checked() && !overflow_to_upstream_ &&
      alignment <= alignment_) {
    store = detail::first_for(&smallest_, bytes);  // it gave no such memory, and will say so
  }
  if (store != nullptr) {
    store->release_checked(address, at);
  } else {
    upstream_->deallocate(address, bytes, alignment);
  }
}

}  // namespace lido
