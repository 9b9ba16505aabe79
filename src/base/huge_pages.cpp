#include "lido/base/huge_pages.hpp"

#include <cstdint>

#include "../platform/platform.hpp"
#include "lido/base/address.hpp"
#include "lido/base/fail.hpp"
#include "lido/base/memory_source.hpp"

namespace lido::inline v0::detail {

void advise_huge_pages(void* data, std::size_t bytes) noexcept {
  const auto begin = address_bits(data);
  const std::uintptr_t first = (begin + huge_page - 1) / huge_page * huge_page;
  const std::uintptr_t last = (begin + bytes) / huge_page * huge_page;
  if (first < last) {
    platform::advise_huge_pages(static_cast<std::byte*>(data) + (first - begin), last - first);
  }
}

void* allocate_aligned(std::size_t bytes, std::size_t alignment, std::string_view pool_name) {
  // The form that throws would end a program without exceptions, and would not name the pool.
  void* const memory = ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  if (memory == nullptr) {
    throw_no_memory(pool_name, bytes);
  }
  return memory;
}

void* allocate_array(std::size_t bytes, std::size_t alignment, const array_source& from,
                     std::string_view pool_name) {
  if (from.memory == nullptr) {
    void* const array =
        allocate_aligned(bytes, array_alignment(bytes, alignment, from.pages), pool_name);
    if (from.pages == page_kind::large) {
      advise_huge_pages(array, bytes);
    }
    return array;
  }
  void* const array = from.memory->allocate(bytes, alignment);
  if (array == nullptr) {
    throw_no_memory(pool_name, bytes);
  }
  return array;
}

void free_array(void* array, std::size_t bytes, std::size_t alignment,
                const array_source& from) noexcept {
  if (from.memory == nullptr) {
    ::operator delete (array, std::align_val_t{array_alignment(bytes, alignment, from.pages)});
  } else {
    from.memory->deallocate(array, bytes, alignment);
  }
}

}  // namespace lido::inline v0::detail
