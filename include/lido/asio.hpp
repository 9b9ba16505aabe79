/// @file
/// Public entry for users of Boost.Asio: `lido::async_acquire`. Needs the target lido::asio. Not
/// part of lido.hpp.
#pragma once

#include "lido/resource/asio_acquire.hpp"
