/// @file
/// Internal. As slot_shadow.hpp, for blocks whose size is known at run time only.
#pragma once

#include <cstddef>

#include "lido/debug/slot_shadow.hpp"

#if defined(LIDO_POISON_FREE_SLOTS) && !defined(LIDO_NO_POISON)
#define LIDO_POISON_FREE_BLOCKS 1
#else
#define LIDO_POISON_FREE_BLOCKS 0
#endif

namespace lido::detail {

/// Poisons what is free of an array of blocks; of a block in use also what nobody asked for.
///
/// Looks the same in all builds, and whether it does anything is decided by the build of the
/// library: a program with AddressSanitizer may use a library without.
/// Requires: first and size of each block are multiples of 8, so that none share a byte of shadow.
class block_shadow {
 public:
  block_shadow(const std::byte* first, std::size_t size, std::size_t bytes) noexcept;
  block_shadow(const block_shadow&) = delete;
  block_shadow& operator=(const block_shadow&) = delete;
  ~block_shadow();

#if LIDO_POISON_FREE_BLOCKS
  void open(const void* block, std::size_t wanted) const noexcept {
    if (active_) {
      __asan_unpoison_memory_region(block, wanted);
    }
  }
  void close(const void* block) const noexcept {
    if (active_) {
      __asan_poison_memory_region(block, size_);
    }
  }
#else
  // NOLINTBEGIN(readability-convert-member-functions-to-static): as in the other kind of build
  void open(const void* /*block*/, std::size_t /*wanted*/) const noexcept {}
  void close(const void* /*block*/) const noexcept {}
  // NOLINTEND(readability-convert-member-functions-to-static)
#endif

 private:
  [[maybe_unused]] const std::byte* first_;
  [[maybe_unused]] std::size_t size_;
  [[maybe_unused]] std::size_t bytes_;
  [[maybe_unused]] bool active_;
};

}  // namespace lido::detail
