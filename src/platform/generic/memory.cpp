#include <cstdlib>
#include <cstring>

#include "../platform.hpp"

namespace lido::detail::platform {

std::size_t page_size() noexcept {
  return alignof(std::max_align_t);  // so that all memory begins at the start of a page
}

void* reserve(std::size_t bytes) noexcept {
  return std::calloc(bytes, 1);  // NOLINT(*-no-malloc,*-owning-memory): see unreserve
}

void unreserve(void* place, std::size_t /*bytes*/) noexcept {
  std::free(place);  // NOLINT(*-no-malloc,*-owning-memory): see reserve
}

int commit(void* /*place*/, std::size_t /*bytes*/) noexcept {
  return 0;
}

int discard(void* place, std::size_t bytes) noexcept {
  std::memset(place, 0, bytes);
  return 0;
}

void advise_huge_pages(void* /*place*/, std::size_t /*bytes*/) noexcept {}

}  // namespace lido::detail::platform
