/// @file
/// What std::stop_token stands on in the model: requests to stop, and callbacks.
#pragma once

#include <cstdint>

namespace model {

/// One callback; registered from its construction to its end.
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

/// Shared by sources, tokens and callbacks. Each step is one of the model's; what threads did
/// before a step, those of later steps see, as with the lock of the standard library.
class stop_state {
 public:
  stop_state();

  [[nodiscard]] bool is_requested() const noexcept { return requested_; }
  /// False: it has been asked before.
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
