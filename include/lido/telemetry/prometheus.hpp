/// @file
/// Public. `pool_collector`: exports the pools of a registry to prometheus-cpp.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <vector>

#include "lido/debug/registry.hpp"

namespace lido::inline v0 {

/// Gives an `Exposer` of prometheus-cpp all metrics of the pools in a registry, whenever the
/// `Exposer` asks for them. Each pool is labelled with its name (`pool`), its kind, and its number
/// in the registry. Thread-safe. Requires: the registry outlives the collector.
class pool_collector : public ::prometheus::Collectable {
 public:
  /// Makes a collector for `pools`.
  explicit pool_collector(const registry& pools = registry::global()) noexcept : pools_(pools) {}

  /// Returns the metrics of all pools in the registry. An `Exposer` calls this.
  [[nodiscard]] std::vector<::prometheus::MetricFamily> Collect() const override;

 private:
  const registry& pools_;
};

}  // namespace lido::inline v0
