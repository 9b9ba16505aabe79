/// @file
/// A separate stack for each modelled thread, and the switch between two of them.
#pragma once

#include <cstddef>

namespace model {

/// Runs a function on its own stack. A switch saves six registers: the compiler saves the others
/// around the calls in the source. x86-64 only.
class fiber {
 public:
  using entry = void (*)(void*);

  /// Makes a fiber without a separate stack. It stands for the program's own thread.
  fiber() noexcept = default;
  /// Allocates a stack. Throws std::bad_alloc.
  explicit fiber(std::size_t stack_bytes);
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
  ~fiber();

  /// Makes the next switch to this fiber call `function(argument)`, which must not return. The
  /// fiber's previous state is discarded.
  void prepare(entry function, void* argument) noexcept;

  /// Continues where `to` stopped; returns when another fiber switches back to `from`.
  static void change(fiber& from, fiber& to) noexcept;

 private:
  std::byte* stack_ = nullptr;
  std::size_t size_ = 0;
  void* stack_pointer_ = nullptr;
  // The state that <cxxabi.h> keeps for each thread: the exceptions being handled.
  void* caught_ = nullptr;
  unsigned uncaught_ = 0;
};

}  // namespace model
