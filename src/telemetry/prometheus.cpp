#include "lido/telemetry/prometheus.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "lido/resource/duration_histogram.hpp"
#include "lido/telemetry/metrics.hpp"

namespace lido::inline v0 {

namespace {

using ::prometheus::ClientMetric;
using ::prometheus::MetricFamily;
using ::prometheus::MetricType;

/// Bucket bounds that OpenTelemetry recommends for durations of database operations.
constexpr std::array<double, 9> bounds_in_seconds{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10};

/// Adds a sample to the family called `name`. Creates the family if it does not exist yet.
ClientMetric& sample_in(std::vector<MetricFamily>& families, const pool_report& of,
                        std::string_view name, std::string_view help, MetricType type) {
  auto found = std::find_if(families.begin(), families.end(),
                            [name](const MetricFamily& one) { return one.name == name; });
  if (found == families.end()) {
    found = families.insert(found, {std::string(name), std::string(help), type, {}});
  }
  ClientMetric& sample = found->metric.emplace_back();
  sample.label = {{"pool", std::string(of.name)},
                  {"kind", std::string(of.kind)},
                  {"number", std::to_string(of.number)}};
  return sample;
}

ClientMetric::Histogram histogram_of(const duration_histogram& times) {
  using seconds = std::chrono::duration<double>;
  ClientMetric::Histogram out{times.count(), seconds(times.sum()).count(), {}};
  for (const double bound : bounds_in_seconds) {
    const auto length = std::chrono::round<std::chrono::nanoseconds>(seconds(bound));
    out.bucket.push_back({times.count_up_to(length), bound});
  }
  return out;
}

void add(std::vector<MetricFamily>& families, const pool_report& report) {
  detail::for_each_value(
      detail::source_of(report), [&](const metric& row, std::size_t i, std::uint64_t value) {
        if (row.name.empty()) {
          return;
        }
        const bool is_gauge = row.kind == metric_kind::gauge;
        ClientMetric& sample = sample_in(families, report, row.name, row.help,
                                         is_gauge ? MetricType::Gauge : MetricType::Counter);
        if (!row.values.empty()) {
          sample.label.push_back({std::string(row.label), std::string(row.values[i])});
        }
        const double unit = row.unit == metric_unit::nanoseconds ? 1e-9 : 1;
        (is_gauge ? sample.gauge.value : sample.counter.value) = static_cast<double>(value) * unit;
      });
  for (const time_metric& row : pool_time_metrics()) {
    if (const duration_histogram* const times = row.read(report)) {
      sample_in(families, report, row.name, row.help, MetricType::Histogram).histogram =
          histogram_of(*times);
    }
  }
}

}  // namespace

std::vector<MetricFamily> pool_collector::Collect() const {
  std::vector<MetricFamily> families;
  pools_.visit([&families](const pool_report& report) { add(families, report); });
  return families;
}

}  // namespace lido::inline v0
