/// @file
/// Internal. Which way slots go between an object_pool and its source, by the cache policy.
#pragma once

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

 private:
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
