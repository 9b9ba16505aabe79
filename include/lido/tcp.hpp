/// @file
/// Public entry for pools of Boost.Asio TCP connections: `lido::tcp_factory`. Needs the target
/// lido::tcp. Not part of lido.hpp.
#pragma once

#include "lido/connect/tcp_factory.hpp"
#include "lido/resource_pool.hpp"
