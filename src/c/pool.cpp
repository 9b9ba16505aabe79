#include "lido/c/pool.h"

#include <algorithm>
#include <cstddef>

#include "lido/base/fail.hpp"
#include "lido/base/huge_pages.hpp"
#include "lido/debug/code_address.hpp"
#include "lido/platform/compiler.hpp"
#include "lido/pmr/block_store.hpp"
#include "lido/version.hpp"

struct lido_pool {
  lido_pool(const lido::detail::block_settings& options, const lido::block_size& size)
      : bytes(size.bytes),
        memory(rounded_bytes(options, size.bytes) * size.blocks, memory_alignment(options)),
        blocks(options, {rounded_bytes(options, size.bytes), size.blocks}, memory.data()) {}

  std::size_t bytes;  ///< block size as requested
  lido::detail::aligned_buffer memory;
  lido::detail::block_store blocks;
};

namespace lido::inline v0::detail {

namespace {

constexpr std::size_t usual_alignment = alignof(std::max_align_t);
constexpr std::size_t usual_cached = 512;
/// The size in bytes of the options in the first version, and a size that no later version exceeds.
constexpr std::size_t least_options = offsetof(lido_pool_options, flags) + sizeof(std::size_t);
constexpr std::size_t most_options = 4096;

/// Returns true if the options are of this version, or if they are of a later version and all
/// members unknown to this version are 0.
bool are_known(const lido_pool_options& options) noexcept {
  if (options.size < least_options || options.size > most_options ||
      (options.flags & ~std::size_t{LIDO_POOL_CHECKED}) != 0) {
    return false;
  }
  const auto* const first = static_cast<const unsigned char*>(static_cast<const void*>(&options));
  return std::all_of(first + sizeof(options), first + (std::max)(options.size, sizeof(options)),
                     [](unsigned char byte) { return byte == 0; });
}

block_settings settings_of(const lido_pool_options& options) noexcept {
  return {.alignment = options.alignment != 0 ? options.alignment : usual_alignment,
          .name = options.name != nullptr ? options.name : "unnamed",
          .max_cached = usual_cached,
          .checked = (options.flags & LIDO_POOL_CHECKED) != 0,
          .registry = nullptr};
}

int error_of(block_problem problem) noexcept {
  switch (problem) {
    case block_problem::bytes:
      return LIDO_ERROR_BLOCK_BYTES;
    case block_problem::alignment:
      return LIDO_ERROR_ALIGNMENT;
    case block_problem::blocks:
      return LIDO_ERROR_BLOCKS;
    case block_problem::memory:
      return LIDO_ERROR_NO_MEMORY;
    case block_problem::none:
      break;
  }
  return LIDO_OK;
}

int create(const lido_pool_options& options, lido_pool*& pool) noexcept {
  if (!are_known(options)) {
    return LIDO_ERROR_OPTIONS;
  }
  const block_settings settings = settings_of(options);
  const block_size size{options.block_bytes, options.blocks};
  if (const int error = error_of(find_problem(settings, size)); error != LIDO_OK) {
    return error;
  }
  return attempt(
      [&] {
        pool = new lido_pool(settings, size);  // NOLINT(bugprone-unhandled-exception-at-new): below
        return static_cast<int>(LIDO_OK);
      },
      [] { return static_cast<int>(LIDO_ERROR_NO_MEMORY); });
}

}  // namespace
}  // namespace lido::inline v0::detail

int lido_pool_create(const lido_pool_options* options, lido_pool** pool) {
  if (pool == nullptr) {
    return LIDO_ERROR_NULL;
  }
  *pool = nullptr;
  return options != nullptr ? lido::detail::create(*options, *pool) : LIDO_ERROR_NULL;
}

int lido_pool_destroy(lido_pool* pool) {
  delete pool;
  return pool != nullptr ? LIDO_OK : LIDO_ERROR_NULL;
}

void* lido_pool_acquire(lido_pool* pool) {
  if (pool == nullptr) [[unlikely]] {
    return nullptr;
  }
  void* block = nullptr;
  if (pool->blocks.try_hit(block, pool->bytes)) [[likely]] {
    return block;
  }
  return pool->blocks.acquire_after_miss(pool->bytes, {lido::detail::call_address()});
}

int lido_pool_release(lido_pool* pool, void* block) {
  if (pool == nullptr) [[unlikely]] {
    return LIDO_ERROR_NULL;
  }
  if (pool->blocks.may_hit(block)) [[likely]] {
    pool->blocks.release(block);
    return LIDO_OK;
  }
  if (block == nullptr) {
    return LIDO_OK;
  }
  const bool released = pool->blocks.is_checked() &&
                        pool->blocks.release_checked(block, {lido::detail::call_address()});
  return released ? LIDO_OK : LIDO_ERROR_NOT_IN_USE;
}

std::size_t lido_pool_in_use(const lido_pool* pool) {
  return pool != nullptr ? pool->blocks.stats().in_use : 0;
}

std::size_t lido_pool_capacity(const lido_pool* pool) {
  return pool != nullptr ? pool->blocks.stats().capacity : 0;
}

const char* lido_error_text(int error) {
  switch (error) {
    case LIDO_OK:
      return "no error";
    case LIDO_ERROR_NULL:
      return "a required pointer is null";
    case LIDO_ERROR_OPTIONS:
      return "the options have a size, a flag or a member that is unknown to this library";
    case LIDO_ERROR_BLOCK_BYTES:
      return "block_bytes is 0";
    case LIDO_ERROR_ALIGNMENT:
      return "alignment is no power of two up to 4096";
    case LIDO_ERROR_BLOCKS:
      return "blocks is not between 1 and 4294967294";
    case LIDO_ERROR_NO_MEMORY:
      return "memory ran out, or the request exceeds the address space";
    case LIDO_ERROR_NOT_IN_USE:
      return "the address is not that of a block in use";
    default:
      return "unknown error";
  }
}

int lido_version() {
  return LIDO_VERSION;
}
