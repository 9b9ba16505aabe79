#include "lido/base/zeroed_memory.hpp"

#include <cstdlib>

#include "../platform/platform.hpp"
#include "lido/base/fail.hpp"

namespace lido::inline v0::detail {

std::byte* allocate_zeros(std::size_t bytes) {
  if (bytes == 0) {
    return nullptr;
  }
  // Does not use `new`, which would write zeros even to memory that already contains zeros.
  // NOLINTBEGIN(*-no-malloc)
  void* const memory =
      bytes < least_mapped_zeros ? std::calloc(1, bytes) : platform::map_zeros(bytes);
  // NOLINTEND(*-no-malloc)
  if (memory == nullptr) {
    throw_no_memory({}, bytes);
  }
  return static_cast<std::byte*>(memory);
}

void free_zeros(void* memory, std::size_t bytes) noexcept {
  if (bytes < least_mapped_zeros) {
    std::free(memory);  // NOLINT(*-no-malloc,*-owning-memory): as above
  } else {
    platform::unmap_zeros(memory, bytes);
  }
}

}  // namespace lido::inline v0::detail
