#include <bit>
#include <cerrno>

#include "../platform.hpp"
#include "system.hpp"

namespace lido::inline v0::detail::platform {

namespace {

[[nodiscard]] int error_number() noexcept {
  return ::GetLastError() == ERROR_INVALID_PARAMETER ? EINVAL : ENOMEM;
}

}  // namespace

std::size_t page_size() noexcept {
  SYSTEM_INFO info{};
  ::GetSystemInfo(&info);
  return info.dwPageSize;
}

// Reserved memory counts against no limit except the limit on addresses.
void* reserve(std::size_t bytes) noexcept {
  return ::VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS);
}

void unreserve(void* memory, std::size_t /*bytes*/) noexcept {
  (void)::VirtualFree(memory, 0, MEM_RELEASE);
}

int commit(void* memory, std::size_t bytes) noexcept {
  return ::VirtualAlloc(memory, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr ? 0 : error_number();
}

// Decommits the pages, since the system would otherwise continue to promise memory for them to this
// process.
int discard(void* memory, std::size_t bytes) noexcept {
  return ::VirtualFree(memory, bytes, MEM_DECOMMIT) != 0 ? 0 : error_number();
}

// The system supplies pages only when they are touched, but promises memory for all of them at
// once. So all pages count against the limit that all processes share.
void* map_zeros(std::size_t bytes) noexcept {
  return ::VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void unmap_zeros(void* memory, std::size_t /*bytes*/) noexcept {
  (void)::VirtualFree(memory, 0, MEM_RELEASE);
}

bool clear_in_copies(void* /*memory*/, std::size_t /*bytes*/) noexcept {
  return false;  // no process is a copy of another
}

// Large pages need a privilege, and memory that is already reserved cannot use them.
void advise_huge_pages(void* /*memory*/, std::size_t /*bytes*/) noexcept {}

bool is_watched_from_outside() noexcept {
  return false;
}

void tell_release(const void* /*address*/) noexcept {}

void tell_acquire(const void* /*address*/) noexcept {}

}  // namespace lido::inline v0::detail::platform
