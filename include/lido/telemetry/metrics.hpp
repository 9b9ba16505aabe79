/// @file
/// Public. The numbers of pools for people and for monitoring: as text, as JSON, as a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lido/debug/registry.hpp"

namespace lido::inline v0 {

class duration_histogram;
struct resource_pool_stats;

enum class metric_kind : std::uint8_t { gauge, counter };
enum class metric_unit : std::uint8_t { count, flag, nanoseconds };

/// One member of pool_stats or resource_pool_stats, as every export names and explains it.
struct metric {
  struct source {
    const pool_stats& pool;
    const resource_pool_stats* resources;  ///< null: no pool of resources
    std::size_t index;                     ///< of a value in `values`, or 0
  };

  std::string_view member;
  std::string_view name;    ///< for Prometheus; empty: a metric of times has it
  std::string_view help;    ///< what it is
  std::string_view advice;  ///< when to look at it, in Markdown
  /// Empty: this pool does not count it.
  std::optional<std::uint64_t> (*read)(const source& from);
  metric_kind kind = metric_kind::counter;
  metric_unit unit = metric_unit::count;  ///< Prometheus is told seconds
  std::string_view label = {};            ///< that tells values of one name apart
  std::span<const std::string_view> values = {};
};

/// All lengths of one kind of time, for pools of resources.
struct time_metric {
  std::string_view member;  ///< of resource_pool_times
  std::string_view name;
  std::string_view help;
  std::string_view advice;
  /// Null: the pool does not count them.
  const duration_histogram* (*read)(const pool_report& report);
};

/// First those of every pool, in the order of pool_stats, then those of pools of resources.
[[nodiscard]] std::span<const metric> pool_metrics() noexcept;
[[nodiscard]] std::span<const time_metric> pool_time_metrics() noexcept;

/// One line for people: the members that are not 0, except tag_headroom. Of times the number,
/// median and 99th percentile.
std::ostream& operator<<(std::ostream& out, const pool_stats& stats);
std::ostream& operator<<(std::ostream& out, const resource_pool_stats& stats);
std::ostream& operator<<(std::ostream& out, const pool_report& report);

/// `{"pools":[...]}`, a member for each that the pool counts, times in seconds.
[[nodiscard]] std::string to_json(const registry& pools);

namespace detail {

[[nodiscard]] std::string text_of(const pool_stats& pool, const resource_pool_stats* resources);
[[nodiscard]] const resource_pool_stats* resources_of(const pool_report& report) noexcept;

template <class F>
void for_each_value_of(const metric& row, metric::source from, const F& f) {
  for (; from.index == 0 || from.index < row.values.size(); ++from.index) {
    if (const std::optional<std::uint64_t> value = row.read(from)) {
      f(row, from.index, *value);
    }
  }
}

/// f(row, index in its values, value) for all that the pool counts.
template <class F>
void for_each_value(const pool_stats& pool, const resource_pool_stats* resources, const F& f) {
  for (const metric& row : pool_metrics()) {
    for_each_value_of(row, {pool, resources, 0}, f);
  }
}

}  // namespace detail
}  // namespace lido::inline v0
