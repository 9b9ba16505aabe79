/// @file
/// Public entry for users of Asio: `lido::async_acquire` for object and resource pools. Needs the
/// target lido::asio for Boost.Asio, or lido::standalone_asio (or LIDO_STANDALONE_ASIO defined) for
/// Asio without Boost. Not part of lido.hpp.
#pragma once

#include "lido/object/asio_acquire.hpp"
#include "lido/resource/asio_acquire.hpp"
#include "lido/resource/resource_pool.hpp"
