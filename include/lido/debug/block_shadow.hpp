/// @file
/// Internal. As slot_shadow.hpp, for blocks whose size is known at run time only.
#pragma once

#include <cstddef>

#include "lido/debug/slot_shadow.hpp"

namespace lido::detail {

#if defined(LIDO_POISON_FREE_SLOTS) && !defined(LIDO_NO_POISON)

/// Poisons what is free of an array of blocks; of a block in use also what nobody asked for.
/// Requires: first and size of each block are multiples of 8, so that none share a byte of shadow.
class block_shadow {
 public:
  block_shadow(const std::byte* first, std::size_t size, std::size_t bytes) noexcept
      : first_(first), size_(size), bytes_(bytes) {
    __asan_poison_memory_region(first_, bytes_);
  }
  block_shadow(const block_shadow&) = delete;
  block_shadow& operator=(const block_shadow&) = delete;
  ~block_shadow() { __asan_unpoison_memory_region(first_, bytes_); }

  static void open(const void* block, std::size_t wanted) noexcept {
    __asan_unpoison_memory_region(block, wanted);
  }
  void close(const void* block) const noexcept { __asan_poison_memory_region(block, size_); }

 private:
  const std::byte* first_;
  std::size_t size_;
  std::size_t bytes_;
};

#else

class block_shadow {
 public:
  constexpr block_shadow(const std::byte* /*first*/, std::size_t /*size*/,
                         std::size_t /*bytes*/) noexcept {}
  static constexpr void open(const void* /*block*/, std::size_t /*wanted*/) noexcept {}
  static constexpr void close(const void* /*block*/) noexcept {}
};

#endif

}  // namespace lido::detail
