/// @file
/// A stack of its own for each modelled thread, and the switch between two of them.
#pragma once

#include <cstddef>

namespace model {

/// Runs a function on its own stack. A switch saves six registers: the calls that are around it in
/// the source save the others. x86-64 alone.
class fiber {
 public:
  using entry = void (*)(void*);

  /// No stack: stands for the thread of the program itself.
  fiber() noexcept = default;
  /// Throws std::bad_alloc.
  explicit fiber(std::size_t stack_bytes);
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
  ~fiber();

  /// The next switch to this fiber calls `function(argument)`, which must not return. What the
  /// fiber was doing before is forgotten.
  void prepare(entry function, void* argument) noexcept;

  /// Goes on where `to` stopped; returns when somebody switches back to `from`.
  static void change(fiber& from, fiber& to) noexcept;

 private:
  std::byte* stack_ = nullptr;
  std::size_t size_ = 0;
  void* stack_pointer_ = nullptr;
  // What <cxxabi.h> keeps for each thread: the exceptions being handled.
  void* caught_ = nullptr;
  unsigned uncaught_ = 0;
};

}  // namespace model
