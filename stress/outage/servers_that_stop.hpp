/// @file
/// Servers that stop and come back, and what makes pools of connections to them.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "lenders.hpp"

namespace outage {

class stopping_server {
 public:
  stopping_server() = default;
  stopping_server(const stopping_server&) = delete;
  stopping_server& operator=(const stopping_server&) = delete;
  virtual ~stopping_server() = default;

  virtual void stop() = 0;
  /// Takes connections again when this returns.
  virtual void start() = 0;
  /// Returns true if clients can be served before `start`.
  [[nodiscard]] virtual bool has_another() const { return false; }
  [[nodiscard]] virtual std::unique_ptr<lender> make_lender(bool by_hand, std::size_t size,
                                                            connects& all) const = 0;
};

/// Each may throw std::runtime_error that says what is not installed, or not allowed.
[[nodiscard]] std::unique_ptr<stopping_server> make_redis();
[[nodiscard]] std::unique_ptr<stopping_server> make_pgbouncer();
/// PostgreSQL stops, and PgBouncer in front of it stays.
[[nodiscard]] std::unique_ptr<stopping_server> make_postgres();
/// PostgreSQL stops behind PgBouncer, and no connect succeeds without an answer of PostgreSQL.
[[nodiscard]] std::unique_ptr<stopping_server> make_asked_postgres();
/// Makes two Redis behind one name. The first falls silent: what is sent to it is lost.
[[nodiscard]] std::unique_ptr<stopping_server> make_silent_redis();

template <class R, class Factory>
[[nodiscard]] std::unique_ptr<lender> make_lender_of(bool by_hand, Factory factory,
                                                     std::size_t size, connects& all,
                                                     void (*ask)(R&)) {
  counting_factory<R, Factory> counting(std::move(factory), all);
  if (by_hand) {
    return std::make_unique<plain_lender<R, Factory>>(std::move(counting), size, ask);
  }
  return std::make_unique<lido_lender<R, Factory>>(std::move(counting), size, ask);
}

}  // namespace outage
