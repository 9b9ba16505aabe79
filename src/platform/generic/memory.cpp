#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "../platform.hpp"

namespace lido::inline v0::detail::platform {

std::size_t page_size() noexcept {
  // With this page size, all memory begins at the start of a page.
  return alignof(std::max_align_t);
}

void* reserve(std::size_t bytes) noexcept {
  return std::calloc(bytes, 1);  // NOLINT(*-no-malloc,*-owning-memory): see unreserve
}

void unreserve(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);  // NOLINT(*-no-malloc,*-owning-memory): see reserve
}

int commit(void* /*memory*/, std::size_t /*bytes*/) noexcept {
  return 0;
}

int discard(void* memory, std::size_t bytes) noexcept {
  std::memset(memory, 0, bytes);
  return 0;
}

void* map_zeros(std::size_t bytes) noexcept {
  constexpr std::size_t line = 64;
  // NOLINTBEGIN(*-no-malloc,*-owning-memory): see unmap_zeros
  auto* const block = bytes > SIZE_MAX - 2 * line
                          ? nullptr
                          : static_cast<std::byte*>(std::calloc(bytes + 2 * line, 1));
  // NOLINTEND(*-no-malloc,*-owning-memory)
  if (block == nullptr) {
    return nullptr;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  std::byte* const memory = block + 2 * line - reinterpret_cast<std::uintptr_t>(block) % line;
  std::memcpy(memory - sizeof(block), &block, sizeof(block));
  return memory;
}

void unmap_zeros(void* memory, std::size_t /*bytes*/) noexcept {
  void* block = nullptr;
  std::memcpy(&block, static_cast<std::byte*>(memory) - sizeof(block), sizeof(block));
  std::free(block);  // NOLINT(*-no-malloc,*-owning-memory): see map_zeros
}

bool clear_in_copies(void* /*memory*/, std::size_t /*bytes*/) noexcept {
  return false;
}

void advise_huge_pages(void* /*memory*/, std::size_t /*bytes*/) noexcept {}

bool is_watched_from_outside() noexcept {
  return false;
}

void tell_release(const void* /*address*/) noexcept {}

void tell_acquire(const void* /*address*/) noexcept {}

}  // namespace lido::inline v0::detail::platform
