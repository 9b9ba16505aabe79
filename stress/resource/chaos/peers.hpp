/// @file
/// Backends that fail on demand, and connections to them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/run.hpp"
#include "lido/resource/factory.hpp"

namespace chaos {

/// One connection.
class link {
 public:
  link() = default;
  link(const link&) = delete;
  link& operator=(const link&) = delete;
  virtual ~link() = default;

  /// Returns true if the right answer comes within a fraction of a second. Otherwise the link is
  /// useless.
  [[nodiscard]] virtual bool ask(const std::string& word) = 0;
  [[nodiscard]] virtual bool validate(const lido::create_context& context) = 0;
  [[nodiscard]] virtual bool reset() = 0;
};

/// What was done to a backend.
struct fault {
  std::string_view kind;
  /// True if no request succeeds until `heal`. False if only connections end and new ones can be
  /// made at once, or if the server recovers by itself; then `heal` changes nothing.
  bool stops_service;
};

class backend {
 public:
  backend() = default;
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  virtual ~backend() = default;

  /// Makes a connection. Throws what the factory of its kind throws.
  [[nodiscard]] virtual std::unique_ptr<link> connect(const lido::create_context& context) = 0;
  /// Harms the backend and returns what it did. Call it from one thread only.
  virtual fault harm(stress::random& random) = 0;
  virtual void heal() = 0;
};

/// A server in this process. It closes connections, falls silent, refuses, speaks unasked, and
/// leaves connections half-open, as after a power cut or without a cable.
[[nodiscard]] std::unique_ptr<backend> make_echo();

/// Server processes: killed and restarted, stopped, their clients killed. Return null if not
/// installed.
[[nodiscard]] std::unique_ptr<backend> make_redis();
[[nodiscard]] std::unique_ptr<backend> make_postgres();

}  // namespace chaos
