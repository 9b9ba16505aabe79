// Tests that each option of object pools, slot maps and block resources reaches the part that obeys
// it. Its effects in every case are tested elsewhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lido/block_resource.hpp"
#include "lido/concurrent_slot_map.hpp"
#include "lido/freelist/boost_list.hpp"
#include "lido/memory_source.hpp"
#include "lido/object_pool.hpp"
#include "lido/registry.hpp"
#include "lido/slot_map.hpp"
#include "options/rows.hpp"
#include "support/counting_upstream.hpp"
#include "support/drain.hpp"
#include "support/misuse_log.hpp"
#include "support/resident.hpp"
#include "support/sanitizers.hpp"

namespace lido {
namespace {

using test::expect_all;
using row = test::option_row;

struct kept : pool_traits<std::uint64_t> {
  struct hooks {
    static std::uint64_t create() { return 1; }
  };
};

bool knows(const registry& pools, std::string_view name) {
  bool found = false;
  pools.visit([&](const pool_report& one) { found = found || one.name == name; });
  return found;
}

/// Returns the free slots in the cache of a thread that has had all.
template <class Pool>
std::size_t cached_after_use(Pool& pool) {
  test::release_all(pool, test::drain(pool));
  return pool.stats().cached;
}

TEST(ObjectOptions, AreObeyed) {
  using options = object_pool_options;
  using pool_type = object_pool<std::uint64_t>;
  registry pools;
  const row rows[] = {
      {"capacity",
       [] {
         pool_type pool(options{.capacity = 3});
         return test::count_acquirable(pool) == 3;
       }},
      {"name", [] { return pool_type(options{.capacity = 1, .name = "jobs"}).name() == "jobs"; }},
      {"registry",
       [&] {
         const pool_type pool(options{.capacity = 1, .name = "jobs", .registry = &pools});
         return knows(pools, "jobs");
       }},
      {"max_cached",
       [] {
         pool_type few(options{.capacity = 1000, .max_cached = 5});
         pool_type many(options{.capacity = 1000});
         const std::size_t cached = cached_after_use(few);
         return cached <= 5 && cached_after_use(many) > 5;
       }},
      {"max_capacity",
       [] {
         pool_type pool(options{.capacity = 1, .max_capacity = 70, .when_full = when_full::grow});
         return test::count_acquirable(pool) == 70;
       }},
      {"when_full",
       [] {
         pool_type pool(options{.capacity = 1, .when_full = when_full::wait});
         const auto held = pool.acquire();
         return !pool.try_acquire() && !pool.acquire_for(std::chrono::milliseconds(1)) &&
                pool.stats().refused == 1;
       }},
      {"caches",
       [] {
         return pool_type(options{.capacity = 1000, .caches = cache_kind::locked}).stats().caches ==
                cache_kind::locked;
       }},
      {"list",
       [] {
         const pool_type pool(options{.capacity = 9, .list = boost_list()});
         return !pool.stats().tag_headroom && !pool.stats().cas_retries &&
                pool_type(options{.capacity = 9}).stats().tag_headroom;
       }},
      {"creation",
       [] {
         const object_pool<std::uint64_t, kept> pool(
             options{.capacity = 9, .creation = creation::eager});
         return pool.stats().live == 9;
       }},
      {"warm",
       [] {
         constexpr std::size_t bytes = 64UL << 20U;
         const std::size_t before = test::resident_bytes();
         const pool_type pool(options{.capacity = bytes / sizeof(std::uint64_t), .warm = true});
         return test::resident_bytes() - before >= bytes;
       }},
      {"memory",
       [] {
         alignas(128) std::array<std::byte, 4096> bytes;
         memory_region region(bytes);
         const pool_type pool(options{.capacity = 9, .memory = &region});
         return region.left() < bytes.size();
       }},
  };
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k] = options();
  expect_all(rows, 11);
}

TEST(SlotMapOptions, AreObeyed) {
  using options = slot_map_options;
  using map_type = slot_map<std::uint64_t>;
  const row rows[] = {
      {"max_size",
       [] {
         map_type map(options{.max_size = 2});
         return map.try_emplace(1U) && map.try_emplace(2U) && !map.try_emplace(3U);
       }},
      {"reserve", [] { return map_type(options{.reserve = 70}).capacity() >= 70; }},
      {"shrink_threshold",
       [] {
         const auto left = [](std::size_t threshold) {
           map_type map(options{.shrink_threshold = threshold});
           std::vector<map_type::handle_type> all(4000);
           std::generate(all.begin(), all.end(), [&] { return map.emplace(1U); });
           for (std::size_t i = 0; i + 1 < all.size(); ++i) {
             map.erase(all[i]);
           }
           map.compact();
           return map.capacity();
         };
         return left(100) < 4000 && left(unlimited) >= 4000;
       }},
      {"compaction",
       [] {
         map_type map(options{.compaction = compaction_mode::immediate});
         const auto first = map.emplace(1U);
         (void)map.emplace(2U);
         map.erase(first);
         return map.holes() == 0;
       }},
      {"huge_pages",
       [] {
         constexpr std::size_t values = (std::size_t{64} << 20U) / sizeof(std::uint64_t);
         const std::size_t before = test::resident_bytes();
         map_type map(options{.reserve = values, .huge_pages = false});
         (void)map.emplace(1U);
         // AddressSanitizer has an eighth of the memory for itself.
         return LIDO_TEST_ASAN != 0 || test::resident_bytes() - before < detail::huge_page;
       }},
      {"name",
       [] { return map_type(options{.max_size = 1, .name = "sparks"}).name() == "sparks"; }},
      {"memory",
       [] {
         alignas(128) std::array<std::byte, 4096> bytes;
         memory_region region(bytes);
         const map_type map(options{.max_size = 9, .reserve = 9, .memory = &region});
         return region.left() < bytes.size();
       }},
  };
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g] = options();
  expect_all(rows, 7);
}

TEST(ConcurrentSlotMapOptions, AreObeyed) {
  using options = concurrent_slot_map_options;
  using map_type = concurrent_slot_map<std::uint64_t>;
  registry pools;
  const auto cached = [](std::size_t most) {
    map_type map(options{.max_size = 1000, .max_cached = most});
    while (map.try_emplace(1U)) {
    }
    map.clear();
    return map.stats().cached;
  };
  const row rows[] = {
      {"max_size",
       [] {
         map_type map(options{.max_size = 2});
         return map.try_emplace(1U) && map.try_emplace(2U) && !map.try_emplace(3U);
       }},
      {"name",
       [] { return map_type(options{.max_size = 1, .name = "sparks"}).name() == "sparks"; }},
      {"max_cached", [&] { return cached(5) <= 5 && cached(512) > 5; }},
      {"registry",
       [&] {
         const map_type map(options{.max_size = 1, .name = "sparks", .registry = &pools});
         return knows(pools, "sparks");
       }},
      {"memory",
       [] {
         alignas(128) std::array<std::byte, 4096> bytes;
         memory_region region(bytes);
         const map_type map(options{.max_size = 9, .memory = &region});
         return region.left() < bytes.size();
       }},
  };
  [[maybe_unused]] const auto& [a, b, c, d, e] = options();
  expect_all(rows, 5);
}

TEST(BlockOptions, AreObeyed) {
  using options = block_resource_options;
  registry pools;
  test::counting_upstream upstream;
  const auto cached = [](std::size_t most) {
    block_resource blocks(options{.block_bytes = 8, .blocks = 1000, .max_cached = most});
    std::vector<void*> all(1000);
    std::generate(all.begin(), all.end(), [&] { return blocks.allocate(8, 8); });
    for (void* const one : all) {
      blocks.deallocate(one, 8, 8);
    }
    return blocks.stats(0).blocks.cached;
  };
  const row rows[] = {
      {"block_bytes",
       [] {
         return block_resource(options{.block_bytes = 48, .blocks = 1}).stats(0).block_bytes == 48;
       }},
      {"blocks",
       [] {
         return block_resource(options{.block_bytes = 48, .blocks = 7}).stats(0).blocks.capacity ==
                7;
       }},
      {"sizes",
       [] {
         const block_resource blocks(options{.sizes = {{64, 3}, {32, 2}}});
         return blocks.stats(0).block_bytes == 32 && blocks.stats(0).blocks.capacity == 2 &&
                blocks.stats(1).block_bytes == 64 && blocks.stats(1).blocks.capacity == 3;
       }},
      {"alignment",
       [] {
         const block_resource blocks(options{.sizes = {{8, 1}, {300, 1}}, .alignment = 256});
         return blocks.stats(0).block_bytes == 256 && blocks.stats(1).block_bytes == 512;
       }},
      {"name",
       [] {
         try {
           block_resource none(options{.block_bytes = 8,
                                       .blocks = 1,
                                       .name = "nodes",
                                       .upstream = std::pmr::null_memory_resource()});
           (void)none.allocate(17, 8);
         } catch (const std::bad_alloc& error) {
           return std::string_view(error.what()).find("nodes") != std::string_view::npos;
         }
         return false;
       }},
      {"max_cached", [&] { return cached(5) <= 5 && cached(512) > 5; }},
      {"upstream",
       [&] {
         block_resource blocks(options{.block_bytes = 8, .blocks = 1, .upstream = &upstream});
         blocks.deallocate(blocks.allocate(17, 8), 17, 8);
         return upstream.requests() == 1;
       }},
      {"use_larger_blocks",
       [] {
         block_resource blocks(options{.sizes = {{16, 1}, {32, 1}}, .use_larger_blocks = true});
         return blocks.try_allocate(16) != nullptr && blocks.try_allocate(16) != nullptr;
       }},
      {"overflow_to_upstream",
       [&] {
         const std::size_t before = upstream.requests();
         block_resource blocks(options{
             .block_bytes = 8, .blocks = 1, .upstream = &upstream, .overflow_to_upstream = true});
         void* const one = blocks.allocate(8, 8);
         blocks.deallocate(blocks.allocate(8, 8), 8, 8);
         blocks.deallocate(one, 8, 8);
         return upstream.requests() == before + 1;
       }},
      {"checked",
       [] {
         const test::misuse_log log;
         block_resource blocks(options{.block_bytes = 8, .blocks = 2, .checked = true});
         void* const one = blocks.allocate(8, 8);
         blocks.deallocate(one, 8, 8);
         blocks.deallocate(one, 8, 8);
         return log.entries().size() == 1;
       }},
      {"registry",
       [&] {
         const block_resource blocks(
             options{.block_bytes = 8, .blocks = 1, .name = "nodes", .registry = &pools});
         return knows(pools, "nodes");
       }},
      {"memory",
       [] {
         alignas(128) std::array<std::byte, 4096> bytes;
         memory_region region(bytes);
         const block_resource blocks(options{.block_bytes = 8, .blocks = 1, .memory = &region});
         return region.left() < bytes.size() && blocks.owns(bytes.data());
       }},
  };
  [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = options();
  expect_all(rows, 12);
}

}  // namespace
}  // namespace lido
