/// Prints the table of numbers for docs/reference/stats.md; with the argument "json", pools with
/// odd names.
#include <cstdio>
#include <string>
#include <string_view>

#include "lido/registry.hpp"
#include "telemetry/known_pools.hpp"

namespace {

template <class Row>
void print_row(const Row& row, const std::string& name) {
  std::printf("| `%s` | %s | %s | %s |\n", row.member.data(), name.c_str(), row.help.data(),
              row.advice.data());
}

std::string metric_of(const lido::metric& row) {
  std::string name = row.name.empty() ? "" : '`' + std::string(row.name);
  if (!row.values.empty()) {
    name += '{' + std::string(row.label);
    name += row.values.size() == 1 ? "=" + std::string(row.values[0]) : "";
    name += '}';
  }
  return row.name.empty() ? "" : name + '`';
}

void print_tables() {
  constexpr const char* head = "| member | metric | is | look at it when |\n|---|---|---|---|\n";
  constexpr struct {
    std::string_view member;  // the first
    const char* table;
  } tables[] = {{"capacity", "pool_stats"},
                {"cached", "slot_pool_stats"},
                {"max_capacity", "growth_stats"},
                {"creating", "resource_pool_stats"}};
  for (const lido::metric& row : lido::pool_metrics()) {
    for (const auto& [member, table] : tables) {
      if (row.member == member) {
        std::printf("%s\n%s", table, head);
      }
    }
    print_row(row, metric_of(row));
  }
  std::printf("resource_pool_times\n%s", head);
  for (const lido::time_metric& row : lido::pool_time_metrics()) {
    print_row(row, '`' + std::string(row.name) + '`');
  }
}

void print_json() {
  using namespace std::string_view_literals;
  lido::registry pools;
  const lido::test::known_pool plain(pools, "plain", lido::test::report_of_resources());
  const lido::test::known_pool control(pools, "\"\\/\b\f\n\r\t\x01\x1f\x7f\0"sv, {});
  const lido::test::known_pool world(pools, "Gr\u00f6\u00dfe \u20ac \U0001f3d6", {});
  const lido::test::known_pool wrong(pools, "a\xff", {});
  std::fputs(to_json(pools).c_str(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "json") {
    print_json();
  } else {
    print_tables();
  }
}
