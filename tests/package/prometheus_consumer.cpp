// Uses the installed target lido::prometheus.
#include <lido/prometheus.hpp>

int main() {
  return static_cast<int>(lido::pool_collector().Collect().size());
}
