#include "support/failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

// The names that the linker gives to the functions with --wrap.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void* __real_calloc(std::size_t count, std::size_t size) noexcept;
void* __real_malloc(std::size_t size) noexcept;
void __real_free(void* memory) noexcept;
}
// NOLINTEND(bugprone-reserved-identifier)

namespace lido::test {
namespace {

constinit thread_local allocation_plan plan;
constexpr long exhausted = -1;  // value of fail_at after a sticky failure has begun

bool fails() noexcept {
  if (plan.fail_at == exhausted) {
    return true;
  }
  if (plan.fail_at > 0 && --plan.fail_at == 0) {
    plan.fail_at = plan.sticky ? exhausted : 0;
    return true;
  }
  return false;
}

bool may_allocate() noexcept {
  if (fails()) {
    ++plan.refused;
    return false;
  }
  ++plan.allocations;
  ++allocation_plan::outstanding;
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (!may_allocate()) {
    return nullptr;
  }
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

template <class Allocate>
void* allocate_by_malloc(const Allocate& allocate) noexcept {
  if (!may_allocate()) {
    return nullptr;
  }
  ++plan.of_malloc;
  return allocate();
}

void deallocate(void* memory) noexcept {
  allocation_plan::outstanding -= memory != nullptr ? 1 : 0;
  __real_free(memory);
}

}  // namespace

allocation_plan& allocations() noexcept {
  return plan;
}

}  // namespace lido::test

// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void* __wrap_calloc(std::size_t count, std::size_t size) noexcept;
void* __wrap_malloc(std::size_t size) noexcept;
void __wrap_free(void* memory) noexcept;
// Compilers turn malloc into calloc if all bytes are set to zero.
void* __wrap_calloc(std::size_t count, std::size_t size) noexcept {
  return lido::test::allocate_by_malloc([&] { return __real_calloc(count, size); });
}
void* __wrap_malloc(std::size_t size) noexcept {
  return lido::test::allocate_by_malloc([&] { return __real_malloc(size); });
}
void __wrap_free(void* memory) noexcept {
  lido::test::deallocate(memory);
}
}
// NOLINTEND(bugprone-reserved-identifier)

// The array forms of `new` call the other forms.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
void* operator new(std::size_t size) {
  return lido::test::allocate_or_throw(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return lido::test::allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return lido::test::allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t size, std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
  return lido::test::allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size) {
  return ::operator new(size);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return ::operator new(size, alignment);
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
  return ::operator new(size, tag);
}
void* operator new[](std::size_t size, std::align_val_t alignment,
                     const std::nothrow_t& tag) noexcept {
  return ::operator new(size, alignment, tag);
}
void operator delete(void* memory) noexcept {
  lido::test::deallocate(memory);
}
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept {
  lido::test::deallocate(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/,
                     const std::nothrow_t& /*tag*/) noexcept {
  lido::test::deallocate(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  lido::test::deallocate(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  lido::test::deallocate(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  lido::test::deallocate(memory);
}
void operator delete[](void* memory) noexcept {
  lido::test::deallocate(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  lido::test::deallocate(memory);
}
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept {
  lido::test::deallocate(memory);
}
void operator delete[](void* memory, std::size_t /*size*/,
                       std::align_val_t /*alignment*/) noexcept {
  lido::test::deallocate(memory);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
