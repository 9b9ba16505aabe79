/// @file
/// Public entry: the C++20 module `lido`, for `import lido;`.
///
/// It exports the declarations of lido/lido.hpp and lido/slot_map/secondary_map.hpp. It contains no
/// compiled code of the library, so a program must still link the library. The names are attached
/// to no named module, so one program may consist of files that import and files that include. A
/// module exports no macros: for LIDO_VERSION and the others, include lido/version.hpp.
module;

#include <lido/lido.hpp>
#include <lido/slot_map/secondary_map.hpp>

export module lido;

export namespace lido {

// object pools
using lido::cache_kind;
using lido::creation;
using lido::default_init;
using lido::default_init_t;
using lido::failure_handler;
using lido::growth_failed;
using lido::growth_stats;
using lido::keep;
using lido::lease;
using lido::made_pool;
using lido::memory_region;
using lido::memory_source;
using lido::no_hooks;
using lido::object_pool;
using lido::object_pool_options;
using lido::option_problem;
using lido::pool_exhausted;
using lido::pool_stats;
using lido::pool_traits;
using lido::prepare_thread;
using lido::problem_with;
using lido::set_failure_handler;
using lido::share;
using lido::shared_list;
using lido::slot_pool_stats;
using lido::try_make;
using lido::unlimited;
using lido::when_full;

// checked pools
using lido::checked_traits;
using lido::misuse;
using lido::misuse_handler;
using lido::misuse_kind;
using lido::set_misuse_handler;
using lido::to_string;

// slot maps
using lido::compaction_mode;
using lido::concurrent_slot_map;
using lido::concurrent_slot_map_format;
using lido::concurrent_slot_map_options;
using lido::concurrent_slot_map_snapshot;
using lido::parallel_executor;
using lido::secondary_map;
using lido::slot_handle;
using lido::slot_map;
using lido::slot_map_format;
using lido::slot_map_iterator;
using lido::slot_map_options;
using lido::slot_map_snapshot;
using lido::slot_map_values;
using lido::slot_pointer;
using lido::step;

// the registry and its export
using lido::metric;
using lido::metric_kind;
using lido::metric_unit;
using lido::operator<<;
using lido::pool_metrics;
using lido::pool_report;
using lido::registry;
using lido::to_json;

#if __has_include(<memory_resource>)
using lido::block_allocator;
using lido::block_resource;
using lido::block_resource_options;
using lido::block_size;
using lido::block_stats;
using lido::no_block;
using lido::pmr_source;
#endif

#if defined(__cpp_lib_jthread)
// resource pools
using lido::acquire_error;
using lido::after_exception;
using lido::acquire_failure;
using lido::acquire_result;
using lido::close_report;
using lido::create_context;
using lido::create_error;
using lido::create_errors;
using lido::create_result;
using lido::destroy_reason;
using lido::destroy_reasons;
using lido::duration_histogram;
using lido::event_listener;
using lido::key_hash;
using lido::keyed_resource_factory;
using lido::key_view;
using lido::keyed_resource_pool;
using lido::keyed_resource_pool_options;
using lido::keyed_resource_pool_stats;
using lido::lease_info;
using lido::maintenance;
using lido::ongoing_uses;
using lido::permanent_failure;
using lido::pool_event;
using lido::pool_time_metrics;
using lido::resource_generation;
using lido::resource_factory;
using lido::resource_handle;
using lido::resource_lease;
using lido::resource_pool;
using lido::resource_pool_options;
using lido::resource_pool_report;
using lido::resource_pool_stats;
using lido::resource_pool_times;
using lido::time_limit;
using lido::time_metric;
using lido::time_source;
#endif

}  // namespace lido
