/// @file
/// Internal. Which way slots go between an object_pool and its source, by the cache policy.
#pragma once

#include <cstddef>
#include <span>

#include "lido/object/policy.hpp"

namespace lido::detail {

template <class CachePolicy>
struct slot_route {
  /// A slot, or null. As `slot_source::acquire`.
  template <class Source>
  [[nodiscard, gnu::always_inline]] static void* take(Source& source) noexcept {
    void* slot = nullptr;
    if constexpr (CachePolicy::caches == cache_choice::none) {
      slot = source.acquire_shared();
    } else if constexpr (detouring_policy<CachePolicy>) {
      slot = take_by_detour(source, CachePolicy::before_acquire());
    } else if constexpr (CachePolicy::caches == cache_choice::locked) {
      slot = source.acquire_locked();
    } else {
      slot = source.acquire();
    }
    return slot;
  }

  /// As `slot_source::release`.
  template <class Source>
  [[gnu::always_inline]] static void put(Source& source, void* slot) noexcept {
    if constexpr (CachePolicy::caches == cache_choice::none) {
      source.release_shared(slot);
    } else if constexpr (detouring_policy<CachePolicy>) {
      put_by_detour(source, CachePolicy::before_release(), slot);
    } else if constexpr (CachePolicy::caches == cache_choice::locked) {
      source.release_locked(slot);
    } else {
      source.release(slot);
    }
  }

  /// Slots into the front of `out`; how many: fewer than out.size() only when exhausted.
  template <class Source>
  [[nodiscard]] static std::size_t take_n(Source& source, std::span<void*> out) noexcept {
    if constexpr (detouring_policy<CachePolicy>) {
      const detour way = CachePolicy::before_acquire();
      if (way != detour::none) {
        return way == detour::refused ? 0 : take_past_the_cache(source, out);
      }
    }
    return source.acquire_n(out);
  }

  /// As `slot_source::release_n`.
  template <class Source>
  static void put_n(Source& source, std::span<void* const> slots) noexcept {
    if constexpr (detouring_policy<CachePolicy>) {
      if (CachePolicy::before_release() != detour::none) {
        return put_past_the_cache(source, slots);
      }
    }
    source.release_n(slots);
  }

 private:
  template <class Source>
  [[nodiscard]] static std::size_t take_past_the_cache(Source& source,
                                                       std::span<void*> out) noexcept {
    std::size_t count = 0;
    while (count < out.size()) {
      void* const slot = source.acquire_shared();
      if (slot == nullptr) {
        break;
      }
      out[count++] = slot;
    }
    return count;
  }

  template <class Source>
  static void put_past_the_cache(Source& source, std::span<void* const> slots) noexcept {
    for (void* const slot : slots) {
      source.release_shared(slot);
    }
  }

  template <class Source>
  [[nodiscard]] static void* take_by_detour(Source& source, detour way) noexcept {
    if (way == detour::refused) {
      return nullptr;
    }
    return way == detour::none ? source.acquire() : source.acquire_shared();
  }

  template <class Source>
  static void put_by_detour(Source& source, detour way, void* slot) noexcept {
    if (way == detour::none) {
      source.release(slot);
    } else {
      source.release_shared(slot);
    }
  }
};

}  // namespace lido::detail
