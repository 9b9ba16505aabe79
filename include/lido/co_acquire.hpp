/// @file
/// Public entry: `co_acquire` and `async_acquire` of object pools, for coroutines and callbacks
/// that wait for a free slot. With Asio, include lido/asio.hpp instead.
#pragma once

#include "lido/platform/compiler.hpp"  // refuses C++17

#include "lido/object/async_acquire.hpp"
#include "lido/object/object_pool.hpp"
