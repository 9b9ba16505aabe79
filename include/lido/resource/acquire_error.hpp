/// @file
/// Public. Why an acquire got nothing.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lido/resource/stats.hpp"

namespace lido {

enum class acquire_failure : std::uint8_t {
  timed_out,
  cancelled,         ///< by the stop token, or the cancellation slot of Asio
  closed,            ///< the pool
  too_many_waiters,  ///< max_waiters
  create_failed,     ///< and waiting longer is of no use
  self_deadlock,     ///< all resources are held by threads that wait for this pool
  other_process,     ///< the pool was made by a process that this one was forked from
};

[[nodiscard]] std::string_view to_string(acquire_failure cause) noexcept;

/// `what()` names the pool, the cause, the counts, the last error of `create` if none succeeded
/// afterwards, and the threads that have held resources for longest.
// NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): moves copy, so the details stay
class acquire_error : public std::runtime_error {
 public:
  struct details {
    std::string pool;
    acquire_failure cause = acquire_failure::timed_out;
    resource_pool_stats counts;
    std::size_t total_live = 0;  ///< of all keys; 0 without keys, as the next
    std::size_t max_total = 0;
    std::exception_ptr create_error;
    std::string create_error_text;
    std::vector<lease_info> holders;  ///< at most four, the longest first
  };

  explicit acquire_error(details what_was);
  /// Requires: not null.
  explicit acquire_error(std::shared_ptr<const details> what_was);
  acquire_error(const acquire_error&) noexcept = default;
  acquire_error& operator=(const acquire_error&) noexcept = default;
  ~acquire_error() override = default;

  [[nodiscard]] const std::string& pool_name() const noexcept { return details_->pool; }
  [[nodiscard]] acquire_failure cause() const noexcept { return details_->cause; }
  [[nodiscard]] const resource_pool_stats& counts() const noexcept { return details_->counts; }
  /// Null if the last create succeeded, or returned a create_error.
  [[nodiscard]] const std::exception_ptr& create_error() const noexcept {
    return details_->create_error;
  }
  /// The text names their threads; `where()` of each names the code that acquired it.
  [[nodiscard]] const std::vector<lease_info>& holders() const noexcept {
    return details_->holders;
  }

 private:
  std::shared_ptr<const details> details_;  // shared: copying an exception must not throw
};

namespace detail {

/// What an exception says about itself; nothing if there is no memory for that.
[[nodiscard]] std::string text_of(const std::exception_ptr& error) noexcept;

}  // namespace detail
}  // namespace lido
