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

  /// Asks, and gets the right answer within a fraction of a second. False: of no use any more.
  [[nodiscard]] virtual bool ask(const std::string& word) = 0;
  [[nodiscard]] virtual bool validate(const lido::create_context& context) = 0;
  [[nodiscard]] virtual bool reset() = 0;
};

/// What was done to a backend.
struct fault {
  std::string_view kind;
  /// Nobody is served until `heal`. Not so where only connections end and new ones can be had at
  /// once, or where the server recovers by itself: then `heal` changes nothing.
  bool stops_service;
};

class backend {
 public:
  backend() = default;
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  virtual ~backend() = default;

  /// Throws what the factory of its kind throws.
  [[nodiscard]] virtual std::unique_ptr<link> connect(const lido::create_context& context) = 0;
  /// Does something bad to it, and says what; from one thread.
  virtual fault harm(stress::random& random) = 0;
  virtual void heal() = 0;
};

/// In this process: hangs up, falls silent, refuses, speaks unasked; and leaves connections
/// half-open, as a machine without its cable or one whose power was cut.
[[nodiscard]] std::unique_ptr<backend> make_echo();

/// Processes: killed and started anew, stopped, their clients killed. Null where there are none.
[[nodiscard]] std::unique_ptr<backend> make_redis();
[[nodiscard]] std::unique_ptr<backend> make_postgres();

}  // namespace chaos
