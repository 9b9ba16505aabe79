#include "lido/debug/thread_label.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <type_traits>

#include "../concurrency/uncancelled.hpp"
#include "lido/concurrency/asked_once.hpp"
#include "lido/concurrency/atomic.hpp"
#include "lido/debug/slot_record.hpp"
#include "lido/debug/valgrind.hpp"
#include "report_text.hpp"

namespace lido::detail {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
constinit thread_local std::uint32_t checked_thread_id = 0;

namespace {

/// The system keeps 15 characters and ends them with a line break in /proc.
using name_buffer = std::array<char, 16>;

/// The name of a thread that is alive; empty if it is not.
std::string_view read_name(std::uint32_t id, std::span<char> out) noexcept {
  const uncancelled guard;
  report_line path;
  path << "/proc/self/task/" << id << "/comm" << std::string_view("\0", 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX has no other
  const int file = ::open(path.view().data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return {};
  }
  const ssize_t size = ::read(file, out.data(), out.size());
  ::close(file);
  const std::string_view name(out.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return name.substr(0, name.find('\n'));
}

/// Names of the last threads that ended. Never destroyed, nor made at the first use, where the
/// child of a fork could wait for a thread that it does not have.
class ended_threads {
 public:
  void remember(std::uint32_t id) noexcept {
    entry now{id, {}};
    (void)read_name(id, now.name);
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock()) {
      entries_[next_++ % entries_.size()] = now;
    }
  }

  std::string_view find(std::uint32_t id, std::span<char> out) noexcept {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
      return {};
    }
    // The last of that id: the system uses ids again.
    for (std::size_t back = 1; back <= entries_.size(); ++back) {
      const entry& seen = entries_[(next_ - back) % entries_.size()];
      if (seen.id == id) {
        const std::size_t size = std::min(out.size(), seen.name.size());
        std::copy_n(seen.name.begin(), size, out.begin());
        const std::string_view name(out.data(), size);
        return name.substr(0, name.find_first_of(std::string_view("\n\0", 2)));
      }
    }
    return {};
  }

 private:
  struct entry {
    std::uint32_t id = 0;
    name_buffer name{};
  };

  std::mutex mutex_;  // only tried, so that neither fork nor a thread that ends can wait for it
  std::array<entry, 256> entries_{};
  std::size_t next_ = 256;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the one table
constinit ended_threads last_ended;
static_assert(std::is_trivially_destructible_v<ended_threads>);

std::uint32_t ask_thread_id() noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): older C libraries have no function for it
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

/// Has the name of a thread written down when that ends. By the destructor of a key, and not of a
/// thread_local object: for that one the C library allocates, and ends the program where it cannot,
/// and a thread's first call may be a release. A key costs memory only in a process with many;
/// where that is refused, or the key, nobody remembers the thread.
class last_words {
 public:
  void expect() noexcept {
    if (const std::uint64_t key = find_or_make_key(); key != none) {
      (void)pthread_setspecific(static_cast<pthread_key_t>(key), &last_ended);
    }
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static_assert(sizeof(pthread_key_t) < sizeof(none));

  [[nodiscard]] std::uint64_t find_or_make_key() noexcept {
    // (1) - this acquire-load synchronizes-with the acq_rel-CAS (2), so the key is complete
    std::uint64_t known = key_.load(std::memory_order_acquire);
    pthread_key_t made{};
    if (known != none || pthread_key_create(&made, [](void* threads) {
                           static_cast<ended_threads*>(threads)->remember(ask_thread_id());
                         }) != 0) {
      return known;
    }
    // (2) - this acq_rel-CAS synchronizes-with the acquire-load (1) and, where another thread was
    // faster, with that one's acq_rel-CAS (2)
    if (key_.compare_exchange_strong(known, made, std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
      return made;
    }
    (void)pthread_key_delete(made);
    return known;
  }

  atomic<std::uint64_t> key_{none};
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the one key
constinit last_words names;
static_assert(std::is_trivially_destructible_v<last_words>);

}  // namespace

std::uint32_t learn_thread_id() noexcept {
  // A forked child has the variable of the thread that forked, but not its id.
  static constinit asked_once watches_forks;
  (void)watches_forks.answer(
      [] { return pthread_atfork(nullptr, nullptr, [] { checked_thread_id = 0; }) == 0; });
  const std::uint32_t id = ask_thread_id();
  names.expect();
  const std::uint32_t kept = id & ((1U << slot_record::thread_bits) - 1);
  checked_thread_id = under_valgrind() ? 0 : kept;
  return kept;
}

std::string_view thread_name(std::uint32_t id, std::span<char> out) noexcept {
  const std::string_view name = read_name(id, out);
  return !name.empty() ? name : last_ended.find(id, out);
}

}  // namespace lido::detail
