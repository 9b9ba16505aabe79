#include "lido/object_pool.hpp"
#include "lido/try_make.hpp"

const auto made = lido::try_make<lido::object_pool<int>>({.capactiy = 10});
