#include "place_text.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

#include "../concurrency/uncancelled.hpp"
#include "addr2line.hpp"

namespace lido::detail {

namespace {

/// Where an address lies: the file it was loaded from, and the address in that file's own terms.
struct module_place {
  std::array<char, 1024> path{};
  std::uintptr_t offset = 0;
  const char* symbol = nullptr;  ///< mangled; null if there is no dynamic one
};

module_place locate(const void* address) noexcept {
  module_place found;
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    return found;
  }
  // The program itself is known by the name it was called by, which need not be a path.
  const bool is_program = info.dli_fname[0] != '/';
  if (!is_program) {
    std::strncpy(found.path.data(), info.dli_fname, found.path.size() - 1);
  } else if (::readlink("/proc/self/exe", found.path.data(), found.path.size() - 1) < 0) {
    found.path[0] = '\0';
  }
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): addresses as numbers
  const auto* const header = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
  found.offset = reinterpret_cast<std::uintptr_t>(address);
  if (header->e_type != ET_EXEC) {
    found.offset -= reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  }
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  found.symbol = info.dli_sname;
  return found;
}

/// The last places that were looked up, since a report names the same few again and again.
class recent_lines {
 public:
  [[nodiscard]] source_line find(const module_place& where, const void* address) noexcept {
    {
      // Only tried: a forked child may find it locked for ever.
      const std::unique_lock lock(mutex_, std::try_to_lock);
      const std::size_t known = lock.owns_lock() ? position_of(address) : addresses_.size();
      if (known < addresses_.size()) {
        return lines_[known];
      }
    }
    const source_line line = find_line(where.path.data(), where.offset);
    if (const std::unique_lock lock(mutex_, std::try_to_lock);
        lock.owns_lock() && line.file_known()) {
      addresses_[next_] = address;
      lines_[next_] = line;
      next_ = (next_ + 1) % addresses_.size();
    }
    return line;
  }

 private:
  [[nodiscard]] std::size_t position_of(const void* address) const noexcept {
    const auto* const found = std::find(addresses_.begin(), addresses_.end(), address);
    return static_cast<std::size_t>(found - addresses_.begin());
  }

  std::mutex mutex_;
  std::array<const void*, 16> addresses_{};
  std::array<source_line, 16> lines_{};
  std::size_t next_ = 0;
};

source_line line_of(const module_place& where, const void* address) noexcept {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): shared by all reports
  static constinit recent_lines recent;
  return where.path[0] != '\0' ? recent.find(where, address) : source_line{};
}

void append_symbol(report_text& text, const char* symbol) noexcept {
  int status = 0;
  struct deleter {
    void operator()(char* name) const noexcept { std::free(name); }  // NOLINT(*-no-malloc)
  };
  const std::unique_ptr<char, deleter> name(abi::__cxa_demangle(symbol, nullptr, nullptr, &status));
  text << std::string_view(status == 0 ? name.get() : symbol);
}

}  // namespace

void describe(report_text& text, place at) noexcept {
  if (at.address == nullptr) {
    text << "a place that is not known on this processor";
    return;
  }
  const uncancelled guard;
  const module_place where = locate(at.address);
  const source_line line = line_of(where, at.address);
  if (line.function_known()) {
    text << line.function();
  } else if (where.symbol != nullptr) {
    append_symbol(text, where.symbol);
  } else {
    text << "a function without a name";
  }
  if (line.file_known()) {
    text << " at " << line.file();
  }
  const std::string_view path(where.path.data());
  text << " (" << path.substr(path.rfind('/') + 1) << "+";
  text.hex(where.offset) << ")";
}

}  // namespace lido::detail
