/// @file
/// Objects at which a look ends the program.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <vector>

namespace lido::test {

inline constexpr std::size_t page_size = std::size_t{64} * 1024;  // the largest of any system

/// One page, so that the system can watch over it; trivial, so that default_init leaves it alone.
struct alignas(page_size) page {
  std::array<char, page_size> bytes;
};

/// They may be neither read nor written while it lives.
class forbidden_pages {
 public:
  explicit forbidden_pages(const std::vector<page*>& pages) : pages_(pages) { protect(PROT_NONE); }
  forbidden_pages(const forbidden_pages&) = delete;
  forbidden_pages& operator=(const forbidden_pages&) = delete;
  ~forbidden_pages() { protect(PROT_READ | PROT_WRITE); }

 private:
  void protect(int rights) {
    for (page* const one : pages_) {
      EXPECT_EQ(::mprotect(one, sizeof(page), rights), 0);
    }
  }

  std::vector<page*> pages_;
};

}  // namespace lido::test
