#include "lido/pmr/block_store.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <string_view>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/base/memory_cursor.hpp"
#include "lido/base/option_problem.hpp"
#include "lido/base/slot_index.hpp"
#include "lido/debug/registry.hpp"
#include "lido/debug/slot_checks.hpp"

namespace lido::inline v0::detail {

namespace {

/// Returns the unit to which block sizes are rounded up.
std::size_t unit_of(const block_settings& options) noexcept {
  return (std::max)(options.alignment, granule);
}

}  // namespace

block_problem find_problem(const block_settings& options, const block_size& size) noexcept {
  if (size.bytes == 0) {
    return block_problem::bytes;
  }
  if (!std::has_single_bit(options.alignment) ||
      (options.memory == nullptr && options.alignment > most_block_alignment)) {
    return block_problem::alignment;
  }
  if (size.blocks == 0 || size.blocks > max_capacity) {
    return block_problem::blocks;
  }
  const std::size_t most = PTRDIFF_MAX / size.blocks;
  return most < unit_of(options) || size.bytes > most - unit_of(options) ? block_problem::memory
                                                                         : block_problem::none;
}

std::size_t rounded_bytes(const block_settings& options, std::size_t bytes) noexcept {
  LIDO_ASSERT(find_problem(options, {bytes, 1}) == block_problem::none, "options with a problem");
  return rounded_up(bytes, unit_of(options));
}

std::size_t memory_alignment(const block_settings& options) noexcept {
  return (std::max)(options.alignment, cache_line);
}

struct block_checks {
  block_checks(std::string_view name, std::byte* first, std::uint32_t blocks, std::size_t bytes,
               std::byte* records)
      : slots(name, first, blocks, bytes, {bytes, fill_pattern::least_whole}, records) {}

  checked_slots slots;
};

/// The entry of the blocks in a registry, and the characters of its name.
struct block_entry {
  // NOLINTNEXTLINE(*-avoid-c-arrays): macros of the program may change the layout of containers
  block_entry(std::unique_ptr<char[]> own, std::string_view name, registry& where,
              block_store& blocks)
      : text(std::move(own)), entry(where, "block_resource", name, blocks) {}

  std::unique_ptr<char[]> text;  // NOLINT(*-avoid-c-arrays): as above; null if it is placed
  registration entry;
};

void block_store::take_tables(memory_cursor& memory, const block_settings& options,
                              const block_size& size) noexcept {
  slot_allocator::take_tables(memory, static_cast<std::uint32_t>(size.blocks), options.name.size());
  if (options.checked) {
    (void)memory.take(size.blocks * sizeof(slot_record), cache_line);
    (void)memory.take(sizeof(block_checks), alignof(block_checks));
  }
}

block_store::block_store(const block_settings& options, block_size size, std::byte* memory,
                         memory_cursor* own)
    : block_bytes_(size.bytes),
      first_(address_bits(memory)),
      bytes_(size.bytes * size.blocks),
      unchecked_bytes_(options.checked ? 0 : bytes_),
      poisons_(LIDO_POISON_FREE_SLOTS != 0),
      slots_({.geometry = slot_geometry(memory, block_bytes_),
              .capacity = static_cast<std::uint32_t>(size.blocks),
              .caches = options.checked ? cache_kind::none : cache_kind::revocable,
              .max_cached = static_cast<std::uint32_t>(
                  own == nullptr ? options.max_cached
                                 : (std::min)(options.max_cached, most_cached_when_fixed)),
              .name = options.name,
              .memory = own}) {
  LIDO_ASSERT(size.bytes == rounded_bytes(options, size.bytes), "a block size that is not rounded");
  if (options.checked) {
    std::byte* const records =
        own == nullptr ? nullptr : own->take(size.blocks * sizeof(slot_record), cache_line);
    checks_ = make_placed<block_checks>(
        own, slots_.name(), memory, static_cast<std::uint32_t>(size.blocks), block_bytes_, records);
  }
  poison(memory, bytes_);
}

block_store::~block_store() {
  entry_.reset();
  unpoison(memory(), bytes_);
  checks_.reset();  // the destructor checks all blocks
}

void* block_store::acquire_after_miss(std::size_t wanted, code_address at) noexcept {
  void* const block = slots_.acquire_after_miss();
  if (block == nullptr) {
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

bool block_store::release_checked(void* block, code_address at) noexcept {
  if (!checks_->slots.try_end_use(block, at)) {
    return false;
  }
  unpoison(block, block_bytes_);
  checks_->slots.watch(block);
  release(block);
  return true;
}

void block_store::release_all(code_address at) noexcept {
  for (slot_index i = 0; is_checked() && i < bytes_ / block_bytes_; ++i) {
    std::byte* const block = memory() + i * block_bytes_;
    if (checks_->slots.is_used(i) && checks_->slots.try_end_use(block, at)) {
      unpoison(block, block_bytes_);
      checks_->slots.watch(block);
    }
  }
  poison(memory(), bytes_);
  slots_.restart(nullptr);
}

slot_pool_stats block_store::stats() const noexcept {
  slot_pool_stats stats = slots_.stats();
  stats.total_bytes += is_checked() ? checks_->slots.memory() : 0;
  return stats;
}

namespace {

/// Returns how many characters the size of a block adds to a name: its digits and two brackets.
std::size_t added_to_name(std::size_t block_bytes, bool with_size) noexcept {
  return with_size ? digits(block_bytes).view().size() + 2 : 0;
}

}  // namespace

void block_store::take_entry(memory_cursor& memory, std::string_view name, std::size_t block_bytes,
                             bool with_size) noexcept {
  (void)memory.take(name.size() + added_to_name(block_bytes, with_size), alignof(char));
  (void)memory.take(sizeof(block_entry), alignof(block_entry));
}

void block_store::enter(registry& where, bool with_size, memory_cursor* own) {
  const std::size_t size = name().size() + added_to_name(block_bytes_, with_size);
  // NOLINTNEXTLINE(*-avoid-c-arrays): see block_entry
  auto allocated = own == nullptr ? std::make_unique<char[]>(size) : std::unique_ptr<char[]>();
  char* const text = own == nullptr
                         ? allocated.get()
                         : static_cast<char*>(static_cast<void*>(own->take(size, alignof(char))));
  char* end = text + name().copy(text, name().size());
  if (with_size) {
    *end++ = '[';
    end += digits(block_bytes_).view().copy(end, size);
    *end = ']';
  }
  entry_ = make_placed<block_entry>(own, std::move(allocated), std::string_view(text, size), where,
                                    *this);
}

}  // namespace lido::inline v0::detail
