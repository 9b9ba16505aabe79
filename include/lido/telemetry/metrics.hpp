/// @file
/// Public. The statistics of pools, for people and for monitoring: as text, as JSON, and as a
/// table.
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

/// Kinds of metrics: a gauge rises and falls, a counter only grows.
enum class metric_kind : std::uint8_t { gauge, counter };
/// Unit of a metric.
enum class metric_unit : std::uint8_t {
  count,       ///< a number of slots, resources or events
  flag,        ///< 0 or 1
  nanoseconds  ///< a time
};

/// A metric: one member of a pool's statistics, with the name and the explanation that all exports
/// use.
struct metric {
  struct source {
    const pool_stats& pool;
    const slot_pool_stats* slot_stats;     ///< null except for a pool of slots
    const resource_pool_stats* resources;  ///< null except for a pool of resources
    std::size_t index = 0;                 ///< index of a value in `values`, or 0 if there are none
    bool can_wait = true;                  ///< false for a map or for blocks
  };

  /// Name of the member in the statistics.
  std::string_view member;
  std::string_view name;    ///< name for Prometheus; empty if a time_metric has that name
  std::string_view help;    ///< what the member counts
  std::string_view advice;  ///< when to look at the member, in Markdown
  /// Returns the value, or std::nullopt if the pool does not count it.
  std::optional<std::uint64_t> (*read)(const source& from);
  /// Kind of the metric.
  metric_kind kind = metric_kind::counter;
  metric_unit unit = metric_unit::count;  ///< converted to seconds for Prometheus
  std::string_view label = {};            ///< label that distinguishes the values of one name
  /// Values of the label; empty if there is no label.
  std::span<const std::string_view> values = {};
  /// Returns the word for the value in text and in JSON. Null if these show the value itself.
  std::string_view (*word)(const source& from) = nullptr;
};

/// The distribution of one kind of duration, for pools of resources.
struct time_metric {
  std::string_view member;  ///< member of resource_pool_times
  /// Name for Prometheus.
  std::string_view name;
  /// What is measured.
  std::string_view help;
  /// When to look at it, in Markdown.
  std::string_view advice;
  /// Returns the distribution, or null if the pool does not count it.
  const duration_histogram* (*read)(const pool_report& report);
};

/// Returns the metrics of every pool in the order of pool_stats. After them come the metrics of
/// pools of slots, of pools that grow, and of pools of resources.
[[nodiscard]] std::span<const metric> pool_metrics() noexcept;
/// Returns the distributions of durations that pools of resources have.
[[nodiscard]] std::span<const time_metric> pool_time_metrics() noexcept;

/// Writes one line for people: `capacity`, and all other members that are not 0, except
/// `tag_headroom`. Shows the number, the median and the 99th percentile of durations.
std::ostream& operator<<(std::ostream& out, const pool_stats& stats);
/// Writes one line for people, in the same form as for `pool_stats`.
std::ostream& operator<<(std::ostream& out, const slot_pool_stats& stats);
/// Writes one line for people, in the same form as for `pool_stats`.
std::ostream& operator<<(std::ostream& out, const resource_pool_stats& stats);
/// Writes one line for people: name, number and kind of the pool, its statistics and its durations.
std::ostream& operator<<(std::ostream& out, const pool_report& report);

/// Returns `{"pools":[...]}`. Each pool has a member for each metric that it counts, with times in
/// seconds. `caches` is the word `revocable`, `locked` or `none`.
[[nodiscard]] std::string to_json(const registry& pools);

namespace detail {

[[nodiscard]] std::string text_of(const metric::source& from);
[[nodiscard]] metric::source source_of(const pool_report& report) noexcept;

template <class F>
void for_each_value_of(const metric& row, metric::source from, const F& f) {
  for (; from.index == 0 || from.index < row.values.size(); ++from.index) {
    if (const std::optional<std::uint64_t> value = row.read(from)) {
      f(row, from.index, *value);
    }
  }
}

/// Calls `f(row, index in its values, value)` for each metric that the pool counts.
template <class F>
void for_each_value(const metric::source& from, const F& f) {
  for (const metric& row : pool_metrics()) {
    for_each_value_of(row, from, f);
  }
}

}  // namespace detail
}  // namespace lido::inline v0
