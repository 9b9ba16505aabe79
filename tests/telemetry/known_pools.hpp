/// @file
/// Pools in a registry with numbers chosen by a test.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "lido/debug/registry.hpp"
#include "lido/resource/stats.hpp"

namespace lido::test {

inline slot_pool_stats slots_of_a_pool() {
  slot_pool_stats slots;
  slots.capacity = 8;
  slots.in_use = 3;
  slots.idle = 5;
  slots.waiting = 2;
  slots.caches = cache_kind::locked;
  return slots;
}

inline std::shared_ptr<const resource_pool_report> report_of_resources() {
  const auto report = std::make_shared<resource_pool_report>();
  report->stats.capacity = 4;
  report->stats.in_use = 1;
  report->stats.creating = 2;
  report->stats.suspended = true;
  report->stats.timed_out = 7;
  report->stats.destroyed.at(static_cast<std::size_t>(destroy_reason::too_old)) = 3;
  report->stats.longest_wait = std::chrono::milliseconds(1500);
  report->times.creates.add(std::chrono::milliseconds(2));
  report->times.creates.add(std::chrono::seconds(2));
  return report;
}

/// A registered pool of resources, or of slots if it is given null.
class known_pool {
 public:
  known_pool(registry& pools, std::string_view name,
             std::shared_ptr<const resource_pool_report> resources)
      : resources_(std::move(resources)), entry_(pools, "known", name, &fill, this) {}

 private:
  static void fill(void* pool, pool_report& out) {
    out.resources = static_cast<known_pool*>(pool)->resources_;
    if (out.resources != nullptr) {
      out.stats = out.resources->stats;
    } else {
      out.slot_stats = slots_of_a_pool();
      out.stats = static_cast<const pool_stats&>(*out.slot_stats);
    }
  }

  std::shared_ptr<const resource_pool_report> resources_;
  detail::registration entry_;
};

}  // namespace lido::test
