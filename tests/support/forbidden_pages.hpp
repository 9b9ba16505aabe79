/// @file
/// Objects to which any access ends the program.
#pragma once

#include <gtest/gtest.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <sys/mman.h>
#endif

#include <array>
#include <cstddef>
#include <vector>

namespace lido::test {

inline constexpr std::size_t page_size = std::size_t{64} * 1024;  // the largest page of any system

/// An object of one page, which the system can protect. It is trivial, so default_init leaves it
/// alone.
struct alignas(page_size) page {
  std::array<char, page_size> bytes;
};

/// Makes the pages inaccessible during its lifetime.
class forbidden_pages {
 public:
  explicit forbidden_pages(const std::vector<page*>& pages) : pages_(pages) { protect(false); }
  forbidden_pages(const forbidden_pages&) = delete;
  forbidden_pages& operator=(const forbidden_pages&) = delete;
  ~forbidden_pages() { protect(true); }

 private:
  void protect(bool is_allowed) {
    for (page* const one : pages_) {
#ifdef _WIN32
      DWORD before = 0;
      EXPECT_NE(
          ::VirtualProtect(one, sizeof(page), is_allowed ? PAGE_READWRITE : PAGE_NOACCESS, &before),
          0);
#else
      EXPECT_EQ(::mprotect(one, sizeof(page), is_allowed ? PROT_READ | PROT_WRITE : PROT_NONE), 0);
#endif
    }
  }

  std::vector<page*> pages_;
};

}  // namespace lido::test
