/// @file
/// The state behind std::stop_token in the model: requests to stop, and callbacks.
#pragma once

#include <cstdint>

namespace model {

/// One callback; registered from its construction to its destruction.
class stop_registration {
 public:
  using function = void (*)(void* callback);
  stop_registration(function run, void* callback) noexcept : run_(run), callback_(callback) {}

 private:
  friend class stop_state;
  function run_;
  void* callback_;
  stop_registration* next_ = nullptr;
};

/// Shared by sources, tokens and callbacks. Each step is one of the model's; later steps see what
/// threads did before an earlier one, as with the lock of the standard library.
class stop_state {
 public:
  stop_state();

  [[nodiscard]] bool is_requested() const noexcept { return requested_; }
  /// Requests a stop; returns false if one has been requested before.
  bool request();
  /// Runs the callback if a stop has been requested.
  void add(stop_registration& one);
  /// Waits while another thread runs the callback.
  void remove(stop_registration& one);

 private:
  void begin_step();
  void end_step();

  std::int32_t seen_;
  bool requested_ = false;
  std::uint32_t runner_ = 0;
  stop_registration* running_ = nullptr;
  stop_registration* first_ = nullptr;
};

}  // namespace model
