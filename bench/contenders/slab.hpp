/// @file
/// Memory of the objects of every contender that hands out pointers from a queue or a stack.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace lido_bench {

template <std::size_t Bytes>
class slab {
 public:
  explicit slab(std::size_t count)
      : memory_{static_cast<std::byte*>(std::aligned_alloc(line, rounded(count * Bytes)))} {
    if (memory_ == nullptr) {
      throw std::bad_alloc{};
    }
    // A queue cycles through all its objects; the kernel's first touch must not be measured.
    std::memset(memory_.get(), 0, rounded(count * Bytes));
  }

  [[nodiscard]] void* operator[](std::size_t index) const { return memory_.get() + index * Bytes; }

 private:
  struct deleter {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  static constexpr std::size_t line{64};
  static std::size_t rounded(std::size_t size) { return (size + line - 1) / line * line; }

  std::unique_ptr<std::byte, deleter> memory_;
};

}  // namespace lido_bench
