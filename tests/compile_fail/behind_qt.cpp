// Qt defines plain words as macros. They neither disturb Lido's headers nor are they disturbed.
#define slots
#define signals public
#define emit
#define foreach(each, all) for (each : all)
#define forever for (;;)

#include "lido/freelist/boost_list.hpp"
#include "lido/keyed_resource_pool.hpp"
#include "lido/lido.hpp"
#include "lido/testing.hpp"
#include "lido/trace.hpp"
#if __has_include(<boost/asio.hpp>)
#include "lido/asio.hpp"
#include "lido/tcp.hpp"
#endif
#if __has_include(<tbb/parallel_for.h>)
#include "lido/tbb.hpp"
#endif
#if __has_include(<hiredis/hiredis.h>)
#include "lido/hiredis.hpp"
#endif
#if __has_include(<libpq-fe.h>)
#include "lido/libpq.hpp"
#endif
#if __has_include(<prometheus/collectable.h>)
#include "lido/prometheus.hpp"
#endif

class widget {
 signals:
  void changed();
 public slots:
  void change() {
    lido::object_pool<int> pool({.max_capacity = 10, .when_full = lido::when_full::grow});
    pool.reserve(5);
    const int numbers[] = {1, 2};
    foreach (const int number, numbers) {
      emit changed();
      auto held = pool.acquire(number);
    }
    forever {}
  }
};
