#include "report_text.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>

#include "../concurrency/uncancelled.hpp"

#if defined(LIDO_VALGRIND) && LIDO_VALGRIND
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

namespace lido::detail {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the state of this thread
constinit thread_local std::uint32_t checked_thread_id = 0;

namespace {

/// A forked child has the variable of the thread that forked, but not its id.
[[gnu::constructor(1001)]] void forget_id_in_children() noexcept {
  (void)pthread_atfork(nullptr, nullptr, [] { checked_thread_id = 0; });
}

/// The file of a module; empty if it is not known.
class module_path {
 public:
  explicit module_path(const char* name) noexcept {
    // The program itself is known by the name it was called by, which need not be a path.
    if (name[0] == '/') {
      std::strncpy(path_.data(), name, path_.size() - 1);
    } else {
      (void)!::readlink("/proc/self/exe", path_.data(), path_.size() - 1);
    }
  }
  [[nodiscard]] std::string_view view() const noexcept { return path_.data(); }

 private:
  std::array<char, 1024> path_{};
};

}  // namespace

bool under_valgrind() noexcept {
  return RUNNING_ON_VALGRIND != 0;
}

std::uint32_t learn_thread_id() noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): older C libraries have no function for it
  const auto id = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  checked_thread_id = under_valgrind() ? 0 : id;
  return id;
}

report_text& report_text::operator<<(std::string_view text) noexcept {
  const std::size_t size = std::min(text.size(), room_.size() - size_);
  std::copy_n(text.data(), size, room_.data() + size_);
  size_ += size;
  return *this;
}

/// Not into the room, where a number that does not fit would leave garbage.
report_text& report_text::append(std::uint64_t number, int base) noexcept {
  std::array<char, std::numeric_limits<std::uint64_t>::digits10 + 1> digits;
  const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), number, base);
  return *this << std::string_view(digits.data(), done.ptr);
}

report_text& report_text::address(const void* address) noexcept {
  return hex(std::bit_cast<std::uintptr_t>(address));
}

report_text& report_text::where(place at) noexcept {
  Dl_info info{};
  if (at.address == nullptr || ::dladdr(at.address, &info) == 0) {
    return *this << "an unknown place";
  }
  auto offset = std::bit_cast<std::uintptr_t>(at.address);
  if (static_cast<const ElfW(Ehdr)*>(info.dli_fbase)->e_type != ET_EXEC) {
    offset -= std::bit_cast<std::uintptr_t>(info.dli_fbase);
  }
  if (places_noted_ < places_.size()) {
    places_.at(places_noted_++) = {at.address, info.dli_fbase, offset};
  }
  const module_path path(info.dli_fname);
  return (*this << path.view().substr(path.view().rfind('/') + 1) << "+").hex(offset);
}

report_text& report_text::thread(std::uint32_t id) noexcept {
  *this << "thread " << id;
  // The system ends a name with a line break.
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "/proc/self/task/%u/comm", id);
  const uncancelled guard;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX has no other
  const int file = ::open(text.data(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    const ssize_t size = ::read(file, text.data(), text.size());
    ::close(file);
    const std::string_view name(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    *this << " '" << name.substr(0, name.find('\n')) << "'";
  }
  return *this;
}

report_text& report_text::commands() noexcept {
  const auto* const end = places_.begin() + places_noted_;
  for (const auto* first = places_.begin(); first != end; ++first) {
    const auto same_module = [first](const module_offset& one) { return one.base == first->base; };
    Dl_info info{};
    if (std::find_if(places_.begin(), places_.end(), same_module) != first ||
        ::dladdr(first->address, &info) == 0) {
      continue;
    }
    *this << "  addr2line -Cfpie " << module_path(info.dli_fname).view();
    for (const auto* one = first; one != end; ++one) {
      if (same_module(*one)) {
        (*this << " ").hex(one->offset);
      }
    }
    *this << "\n";
  }
  return *this;
}

}  // namespace lido::detail
