// Formats the table of statistics, as a line for people and as JSON.
#include <ostream>

#include "lido/resource/duration_histogram.hpp"
#include "lido/telemetry/metrics.hpp"

namespace lido::inline v0 {

namespace {

/// Returns the time in seconds as an exact decimal fraction: 1.5 for 1'500'000'000 ns.
std::string in_seconds(std::uint64_t nanoseconds) {
  constexpr std::uint64_t second = 1'000'000'000;
  std::string text = std::to_string(nanoseconds / second);
  if (const std::uint64_t rest = nanoseconds % second; rest != 0) {
    text += '.' + std::to_string(second + rest).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string in_seconds(std::chrono::nanoseconds length) {
  return in_seconds(static_cast<std::uint64_t>(length.count()));
}

std::string in_quotes(std::string_view text) {
  return '"' + std::string(text) + '"';
}

std::string json_value(const metric& row, const metric::source& from, std::uint64_t value) {
  if (row.word != nullptr) {
    return in_quotes(row.word(from));
  }
  if (row.unit == metric_unit::flag) {
    return value != 0 ? "true" : "false";
  }
  return row.unit == metric_unit::nanoseconds ? in_seconds(value) : std::to_string(value);
}

/// Appends a value of a metric. If the metric has several values, they form one JSON object.
void append_json(std::string& out, const metric& row, const metric::source& from, std::size_t i,
                 std::uint64_t value) {
  const bool is_many = row.values.size() > 1;
  out += i == 0 ? ',' + in_quotes(row.member) + (is_many ? ":{" : ":") : ",";
  out += is_many ? in_quotes(row.values[i]) + ':' : "";
  out += json_value(row, from, value) + (is_many && i + 1 == row.values.size() ? "}" : "");
}

std::string json_of(const duration_histogram& times) {
  return "{\"count\":" + std::to_string(times.count()) + ",\"sum\":" + in_seconds(times.sum()) +
         ",\"p50\":" + in_seconds(times.quantile(0.5)) +
         ",\"p99\":" + in_seconds(times.quantile(0.99)) +
         ",\"max\":" + in_seconds(times.quantile(1)) + '}';
}

std::string json_of(const pool_report& report) {
  std::string out = "{\"name\":" + in_quotes(report.name) +
                    ",\"number\":" + std::to_string(report.number) +
                    ",\"kind\":" + in_quotes(report.kind);
  const metric::source from = detail::source_of(report);
  detail::for_each_value(from, [&](const metric& row, std::size_t i, std::uint64_t value) {
    append_json(out, row, from, i, value);
  });
  std::string_view before = ",\"times\":{";
  for (const time_metric& row : pool_time_metrics()) {
    if (const duration_histogram* const times = row.read(report)) {
      (out += before) += in_quotes(row.member) + ':' + json_of(*times);
      before = ",";
    }
  }
  return out += before == "," ? "}}" : "}";
}

}  // namespace

std::string detail::text_of(const metric::source& from) {
  std::string out = "capacity " + std::to_string(from.pool.capacity);
  for_each_value(from, [&](const metric& row, std::size_t i, std::uint64_t value) {
    if (value == 0 || row.member == "capacity" || row.member == "tag_headroom") {
      return;
    }
    (out += ", ") += row.member;
    if (row.values.size() > 1) {
      ((out += '{') += row.values[i]) += '}';
    }
    out += row.word != nullptr                    ? ' ' + std::string(row.word(from))
           : row.unit == metric_unit::nanoseconds ? ' ' + in_seconds(value) + " s"
           : row.unit == metric_unit::count       ? ' ' + std::to_string(value)
                                                  : "";
  });
  return out;
}

std::ostream& operator<<(std::ostream& out, const pool_stats& stats) {
  return out << detail::text_of({.pool = stats, .slot_stats = nullptr, .resources = nullptr});
}

std::ostream& operator<<(std::ostream& out, const slot_pool_stats& stats) {
  return out << detail::text_of({.pool = stats, .slot_stats = &stats, .resources = nullptr});
}

std::ostream& operator<<(std::ostream& out, const pool_report& report) {
  std::string text = std::string(report.name) + '#' + std::to_string(report.number) + ' ';
  (text += report.kind) += ": " + detail::text_of(detail::source_of(report));
  for (const time_metric& row : pool_time_metrics()) {
    const duration_histogram* const times = row.read(report);
    if (times != nullptr && times->count() != 0) {
      (text += "; ") += row.member;
      text += ": " + std::to_string(times->count()) + ", median " +
              in_seconds(times->quantile(0.5)) + " s, 99 % " + in_seconds(times->quantile(0.99)) +
              " s";
    }
  }
  return out << text;
}

std::string to_json(const registry& pools) {
  std::string out = "{\"pools\":[";
  pools.visit([&out](const pool_report& report) {
    out.append(out.back() == '[' ? "" : ",").append(json_of(report));
  });
  return out += "]}\n";
}

}  // namespace lido::inline v0
