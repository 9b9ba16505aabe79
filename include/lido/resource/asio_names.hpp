/// @file
/// Internal. Which Asio is meant: that of Boost, or, with LIDO_STANDALONE_ASIO, the one without.
/// Both may be in one program, so what is made for either is in a namespace of its own.
#pragma once

#include <cstddef>  // first: by the standard library's macros Asio 1.22 chooses how it allocates

#if defined(LIDO_STANDALONE_ASIO)

#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>

#define LIDO_ASIO_NAMESPACE standalone_asio
namespace lido::detail {
inline namespace standalone_asio {
namespace net = ::asio;
}  // namespace standalone_asio
}  // namespace lido::detail

#if __has_include(<asio/associated_cancellation_slot.hpp>)
#include <asio/associated_cancellation_slot.hpp>
#define LIDO_ASIO_HAS_CANCELLATION
#endif
#if defined(ASIO_HAS_CO_AWAIT)
#define LIDO_ASIO_HAS_COROUTINES
#endif

#else

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#define LIDO_ASIO_NAMESPACE boost_asio
namespace lido::detail {
inline namespace boost_asio {
namespace net = ::boost::asio;
}  // namespace boost_asio
}  // namespace lido::detail

#if __has_include(<boost/asio/associated_cancellation_slot.hpp>)
#include <boost/asio/associated_cancellation_slot.hpp>
#define LIDO_ASIO_HAS_CANCELLATION
#endif
#if defined(BOOST_ASIO_HAS_CO_AWAIT)
#define LIDO_ASIO_HAS_COROUTINES
#endif

#endif
