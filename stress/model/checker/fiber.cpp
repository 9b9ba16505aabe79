#include "checker/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <new>

// System V x86-64: a callee saves rbx, rbp and r12 to r15; the caller must save everything else.
asm(R"(
.text
.type lido_model_change, @function
lido_model_change:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lido_model_change, . - lido_model_change

.type lido_model_begin, @function
lido_model_begin:
  movq %r13, %rdi
  callq *%r12
  ud2
.size lido_model_begin, . - lido_model_begin
)");

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): names of the assembler
void lido_model_change(void** save, void* load) noexcept;
void lido_model_begin() noexcept;
// NOLINTEND(readability-identifier-naming)
}

namespace model {

namespace {

struct handled_exceptions {
  void* caught;
  unsigned uncaught;
};

}  // namespace

fiber::fiber(std::size_t stack_bytes) : size_(stack_bytes) {
  void* const memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr): the system's macro
    throw std::bad_alloc();
  }
  stack_ = static_cast<std::byte*>(memory);
  // The lowest page is inaccessible, so that a stack overflow causes a crash and not a riddle.
  constexpr std::size_t page = 4096;
  ::mprotect(memory, page, PROT_NONE);
}

fiber::~fiber() {
  if (stack_ != nullptr) {
    ::munmap(stack_, size_);
  }
}

void fiber::prepare(entry function, void* argument) noexcept {
  // The words that lido_model_change pops, bottom first: r15, r14, r13, r12, rbx, rbp, and the
  // return address. The last word aligns the stack as a call expects.
  std::array<std::uintptr_t, 8> frame{};
  frame[2] = reinterpret_cast<std::uintptr_t>(argument);
  frame[3] = reinterpret_cast<std::uintptr_t>(function);
  frame[6] = reinterpret_cast<std::uintptr_t>(&lido_model_begin);
  std::byte* const first_frame = stack_ + size_ - sizeof(frame) - 8;
  std::memcpy(first_frame, frame.data(), sizeof(frame));
  stack_pointer_ = first_frame;
  caught_ = nullptr;
  uncaught_ = 0;
}

void fiber::change(fiber& from, fiber& to) noexcept {
  // Exceptions in flight belong to a fiber, but the runtime keeps them for the whole thread.
  auto* const now = reinterpret_cast<handled_exceptions*>(__cxxabiv1::__cxa_get_globals());
  from.caught_ = now->caught;
  from.uncaught_ = now->uncaught;
  now->caught = to.caught_;
  now->uncaught = to.uncaught_;
  lido_model_change(&from.stack_pointer_, to.stack_pointer_);
}

}  // namespace model
