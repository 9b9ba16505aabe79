/// @file
/// An upstream memory resource that counts requests, and checks that exactly the blocks that it
/// gave out are returned.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory_resource>
#include <mutex>
#include <utility>

namespace lido::test {

/// Thread-safe. All blocks must have been returned when it is destroyed.
class counting_upstream : public std::pmr::memory_resource {
 public:
  counting_upstream() = default;
  counting_upstream(const counting_upstream&) = delete;
  counting_upstream& operator=(const counting_upstream&) = delete;
  ~counting_upstream() override { EXPECT_TRUE(out_.empty()); }

  [[nodiscard]] std::size_t requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  [[nodiscard]] std::size_t out() const {
    const std::lock_guard lock(mutex_);
    return out_.size();
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::lock_guard lock(mutex_);
    void* const address = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    out_[address] = {bytes, alignment};
    ++requests_;
    return address;
  }
  void do_deallocate(void* address, std::size_t bytes, std::size_t alignment) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(out_[address], std::pair(bytes, alignment));
    out_.erase(address);
    std::pmr::new_delete_resource()->deallocate(address, bytes, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  mutable std::mutex mutex_;
  std::map<void*, std::pair<std::size_t, std::size_t>> out_;
  std::size_t requests_ = 0;
};

}  // namespace lido::test
