#include "lido/debug/thread_label.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>
#include <type_traits>

#include "lido/concurrency/asked_once.hpp"
#include "lido/debug/slot_record.hpp"
#include "lido/debug/valgrind.hpp"
#include "report_text.hpp"

namespace lido::detail {

namespace {

/// The system keeps 15 characters and ends them with a line break in /proc.
using name_buffer = std::array<char, 16>;

/// The name of a thread that is alive; empty if it is not.
std::string_view read_name(std::uint32_t id, std::span<char> out) noexcept {
  report_text path;
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

/// Writes the name down when its thread ends.
struct last_words {
  std::uint32_t id = 0;
  last_words() = default;
  last_words(const last_words&) = delete;
  last_words& operator=(const last_words&) = delete;
  ~last_words() {
    if (id != 0) {
      last_ended.remember(id);
    }
  }
};

}  // namespace

std::uint32_t learn_thread_id() noexcept {
  // A forked child has the variable of the thread that forked, but not its id.
  static constinit asked_once watches_forks;
  (void)watches_forks.answer(
      [] { return pthread_atfork(nullptr, nullptr, [] { checked_thread_id = 0; }) == 0; });
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
  thread_local last_words words;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): older C libraries have no function for it
  const auto id = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  words.id = id;
  const std::uint32_t kept = id & ((1U << slot_record::thread_bits) - 1);
  checked_thread_id = under_valgrind() ? 0 : kept;
  return kept;
}

std::string_view thread_name(std::uint32_t id, std::span<char> out) noexcept {
  const std::string_view name = read_name(id, out);
  return !name.empty() ? name : last_ended.find(id, out);
}

}  // namespace lido::detail
