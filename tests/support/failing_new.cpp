#include "support/failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace lido::test {
namespace {

constinit thread_local allocation_plan plan;
constexpr long exhausted = -1;  // fail_at once a sticky failure has begun

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

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (fails()) {
    ++plan.refused;
    return nullptr;
  }
  ++plan.allocations;
  ++plan.outstanding;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const place = allocate(size, alignment);
  if (place == nullptr) {
    throw std::bad_alloc();
  }
  return place;
}

void deallocate(void* place) noexcept {
  plan.outstanding -= place != nullptr ? 1 : 0;
  std::free(
      place);  // NOLINT(cppcoreguidelines-no-malloc): below operator new there is nothing else
}

}  // namespace

allocation_plan& allocations() noexcept {
  return plan;
}

}  // namespace lido::test

// The array forms and the rest call these.
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
void operator delete(void* place) noexcept {
  lido::test::deallocate(place);
}
void operator delete(void* place, std::size_t /*size*/) noexcept {
  lido::test::deallocate(place);
}
void operator delete(void* place, std::align_val_t /*alignment*/) noexcept {
  lido::test::deallocate(place);
}
void operator delete(void* place, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  lido::test::deallocate(place);
}
void operator delete[](void* place) noexcept {
  lido::test::deallocate(place);
}
void operator delete[](void* place, std::size_t /*size*/) noexcept {
  lido::test::deallocate(place);
}
void operator delete[](void* place, std::align_val_t /*alignment*/) noexcept {
  lido::test::deallocate(place);
}
void operator delete[](void* place, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  lido::test::deallocate(place);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
