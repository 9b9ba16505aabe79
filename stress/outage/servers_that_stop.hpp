/// @file
/// Servers that stop and restart, and makers of connection pools for them.
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
  /// Starts the server again; it accepts connections when this returns.
  virtual void start() = 0;
  /// Returns true if clients can be served before `start`.
  [[nodiscard]] virtual bool has_another() const { return false; }
  [[nodiscard]] virtual std::unique_ptr<lender> make_lender(bool by_hand, std::size_t size,
                                                            connects& all) const = 0;
};

/// Returns a Redis server. Each of these throws std::runtime_error naming what is not installed, or
/// not allowed.
[[nodiscard]] std::unique_ptr<stopping_server> make_redis();
[[nodiscard]] std::unique_ptr<stopping_server> make_pgbouncer();
/// Returns a PostgreSQL that stops, while PgBouncer in front of it stays up.
[[nodiscard]] std::unique_ptr<stopping_server> make_postgres();
/// Returns a PostgreSQL that stops behind PgBouncer, with connects that succeed only if PostgreSQL
/// answers.
[[nodiscard]] std::unique_ptr<stopping_server> make_asked_postgres();
/// Returns two Redis servers behind one name. The first falls silent: all packets to it are lost.
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
