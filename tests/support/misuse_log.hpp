/// @file
/// A misuse handler that records reports and returns.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

#include "lido/debug/misuse.hpp"

namespace lido::test {

/// A log that is installed as the handler during its lifetime. At most one log exists at a time.
/// Otherwise thread-safe.
class misuse_log {
 public:
  struct entry {
    misuse_kind kind;
    std::string pool_name;
    const void* object;
    std::size_t count;
    std::string report;
  };

  misuse_log() {
    current() = this;
    before_ = set_misuse_handler(&misuse_log::write);
  }
  misuse_log(const misuse_log&) = delete;
  misuse_log& operator=(const misuse_log&) = delete;
  ~misuse_log() {
    set_misuse_handler(before_);
    current() = nullptr;
  }

  /// Returns the reports; call it only while no other thread is in a call to a pool.
  [[nodiscard]] const std::vector<entry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<misuse_kind> kinds() const {
    std::vector<misuse_kind> all;
    for (const entry& one : entries_) {
      all.push_back(one.kind);
    }
    return all;
  }

 private:
  static misuse_log*& current() {
    static misuse_log* log = nullptr;
    return log;
  }

  static void write(const misuse& what) noexcept {
    misuse_log& log = *current();
    const std::lock_guard lock(log.mutex_);
    log.entries_.push_back({what.kind, std::string(what.pool_name), what.object, what.count,
                            std::string(what.report)});
  }

  std::mutex mutex_;
  std::vector<entry> entries_;
  misuse_handler before_;
};

}  // namespace lido::test
