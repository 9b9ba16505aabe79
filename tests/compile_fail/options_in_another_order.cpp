#include "lido/object_pool.hpp"

const lido::object_pool_options options{.name = "jobs", .capacity = 10};
