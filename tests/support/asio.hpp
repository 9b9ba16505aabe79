/// @file
/// The names of Asio that tests use, from Boost.Asio or from Asio without Boost.
#pragma once

#if defined(LIDO_STANDALONE_ASIO)

#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>

#if defined(ASIO_HAS_CO_AWAIT)
#define LIDO_TEST_ASIO_COROUTINES
#endif

#else

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#if defined(BOOST_ASIO_HAS_CO_AWAIT)
#define LIDO_TEST_ASIO_COROUTINES
#endif

#endif
