/// @file
/// An object whose memory is inaccessible after its destruction: an access ends the program.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

namespace stress {

namespace detail {

extern "C" inline void report_touch(int /*signal*/) {
  constexpr std::string_view text = "BROKEN: what has ended was touched\n";
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
  std::_Exit(EXIT_FAILURE);
}

/// Keeps the most recently destroyed objects' pages inaccessible; the oldest are unmapped.
class graveyard {
 public:
  static void bury(void* body, std::size_t size) {
    static graveyard all;
    const std::lock_guard lock(all.mutex_);
    (void)::mprotect(body, size, PROT_NONE);
    all.graves_.emplace_back(body, size);
    if (all.graves_.size() > 256) {
      (void)::munmap(all.graves_.front().first, all.graves_.front().second);
      all.graves_.pop_front();
    }
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<void*, std::size_t>> graves_;
};

}  // namespace detail

/// Makes every later touch report a broken invariant.
inline void report_touches() {
  (void)std::signal(SIGSEGV, &detail::report_touch);
}

/// A T on its own pages.
template <class T>
class mortal {
 public:
  template <class... Args>
  explicit mortal(Args&&... args)
      : place_(new_pages()), object_(::new (place_) T(std::forward<Args>(args)...)) {}
  mortal(const mortal&) = delete;
  mortal& operator=(const mortal&) = delete;
  ~mortal() {
    object_->~T();
    detail::graveyard::bury(place_, sizeof(T));
  }

  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  static void* new_pages() {
    void* const place =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr): a macro of the system
      throw std::bad_alloc();
    }
    return place;
  }

  void* place_;
  T* object_;
};

}  // namespace stress
