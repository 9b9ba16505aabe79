#include "lido/base/address_space.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <new>

// Functions of LeakSanitizer; null in a program without it.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
[[gnu::weak]] void __lsan_register_root_region(const void* place, std::size_t size);
[[gnu::weak]] void __lsan_unregister_root_region(const void* place, std::size_t size);
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
}

namespace lido::detail {

namespace {

/// Leak checkers scan only the memory that they know, such as malloc's. Objects in this range may
/// own other memory, so the range is registered.
void show_to_leak_checker(const std::byte* place, std::size_t size) noexcept {
  if (__lsan_register_root_region != nullptr) {
    __lsan_register_root_region(place, size);
  }
}
void hide_from_leak_checker(const std::byte* place, std::size_t size) noexcept {
  if (__lsan_unregister_root_region != nullptr) {
    __lsan_unregister_root_region(place, size);
  }
}

/// 0, or the error.
int drop_pages(std::byte* place, std::size_t size) noexcept {
  if (::madvise(place, size, MADV_DONTNEED) == 0) {
    return 0;
  }
#ifdef MADV_DONTNEED_LOCKED  // mlock, mlockall; Linux 5.18
  if (errno == EINVAL && ::madvise(place, size, MADV_DONTNEED_LOCKED) == 0) {
    return 0;
  }
#endif
  return errno;
}

constexpr std::size_t round_up(std::size_t size, std::size_t unit) noexcept {
  return (size + unit - 1) / unit * unit;
}

}  // namespace

// Not a static variable with an initializer: the child of a fork could wait for ever for a thread
// that was initialising it.
std::size_t page_size() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

address_space::address_space(std::size_t size, std::size_t alignment) : size_(size) {
  const std::size_t page = page_size();
  const std::size_t slack = alignment > page ? alignment : 0;
  if (size > std::numeric_limits<std::size_t>::max() / 2 - slack) {
    throw std::bad_alloc();
  }
  mapped_ = round_up(std::max<std::size_t>(size, 1), page) + slack;
  // Without access rights it counts against no limit except that on addresses.
  void* const place =
      ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, 0);
  if (place == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr): a macro of the system
    throw std::bad_alloc();
  }
  mapping_ = static_cast<std::byte*>(place);
  show_to_leak_checker(mapping_, mapped_);
  const auto start = std::bit_cast<std::uintptr_t>(mapping_);
  data_ = mapping_ + (round_up(start, std::max(alignment, page)) - start);
}

address_space::~address_space() {
  hide_from_leak_checker(mapping_, mapped_);
  (void)::munmap(mapping_, mapped_);
}

int address_space::commit(std::size_t offset, std::size_t size) const noexcept {
  const std::size_t page = page_size();
  const std::size_t first = offset / page * page;
  const std::size_t last = round_up(offset + size, page);
  const bool done = ::mprotect(data_ + first, last - first, PROT_READ | PROT_WRITE) == 0;
  return done ? 0 : errno;
}

int address_space::decommit(std::size_t offset, std::size_t size) const noexcept {
  // Access stays allowed. Withdrawing it between ranges that stay in use would split the mapping,
  // and a process may have only so many mappings (vm.max_map_count).
  return drop_pages(data_ + offset, round_up(size, page_size()));
}

void address_space::discard(std::size_t offset, std::size_t size) const noexcept {
  const std::size_t page = page_size();
  const std::size_t first = round_up(offset, page);
  const std::size_t last = (offset + size) / page * page;
  if (first < last) {
    (void)drop_pages(data_ + first, last - first);
  }
}

}  // namespace lido::detail
