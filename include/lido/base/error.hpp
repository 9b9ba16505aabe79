/// @file
/// Public. The errors that pools report.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lido::inline v0 {

/// Thrown by `acquire` when every slot is in use and the pool neither waits nor can grow, and by
/// inserts into a slot map that is full.
///
/// `what()` contains the pool's name, its capacity, and the number of slots in use.
// NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): moves copy, so the name stays
class pool_exhausted : public std::runtime_error {
 public:
  /// Makes an error of the pool `pool_name`, with its numbers of slots and of objects in use.
  pool_exhausted(std::string_view pool_name, std::size_t capacity, std::size_t in_use);
  pool_exhausted(const pool_exhausted&) noexcept = default;
  pool_exhausted& operator=(const pool_exhausted&) noexcept = default;
  ~pool_exhausted() override = default;

  /// Returns the name of the pool or slot map.
  [[nodiscard]] std::string_view pool_name() const noexcept { return name_.what(); }
  /// Returns the number of slots that the pool had.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// Returns the number of objects that were in use.
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }

 protected:
  /// Makes an error whose `what()` is `text`.
  pool_exhausted(const std::string& text, std::string_view pool_name, std::size_t capacity,
                 std::size_t in_use);

 private:
  std::runtime_error name_;  // a string whose copy does not throw
  std::size_t capacity_;
  std::size_t in_use_;
};

/// Thrown by a pool with `when_full::grow` that may add slots but cannot get memory for them.
/// `acquire`, `reserve` and the constructor throw it. Nothing is lost; the next attempt may
/// succeed.
// NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): as above
class growth_failed : public pool_exhausted {
 public:
  /// Makes an error with the system's `error_number`, as in errno.
  growth_failed(std::string_view pool_name, std::size_t capacity, std::size_t in_use,
                int error_number);
  growth_failed(const growth_failed&) noexcept = default;
  growth_failed& operator=(const growth_failed&) noexcept = default;
  ~growth_failed() override = default;

  /// Returns the error number of the system, as in errno.
  [[nodiscard]] int error_number() const noexcept { return error_number_; }

 private:
  int error_number_;
};

/// Thrown by a `block_resource` that has no free block for a request, if the resource must not ask
/// upstream or if upstream has no memory.
///
/// `what()` contains the resource's name, the request, and how many blocks of the requested size
/// are in use.
// NOLINTNEXTLINE(cppcoreguidelines-special-member-functions): as above
class no_block : public std::bad_alloc {
 public:
  /// Creates an error. `blocks` is the number of blocks of the size that fits, or 0 if no size
  /// fits. Throws std::bad_alloc.
  no_block(std::string_view resource_name, std::size_t bytes, std::size_t alignment,
           std::size_t blocks, std::size_t in_use);
  no_block(const no_block&) noexcept = default;
  no_block& operator=(const no_block&) noexcept = default;
  ~no_block() override = default;

  [[nodiscard]] const char* what() const noexcept override { return text_.what(); }
  /// Returns the name of the resource.
  [[nodiscard]] std::string_view resource_name() const noexcept { return name_.what(); }
  /// Returns the size of the request in bytes.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Returns the alignment of the request in bytes.
  [[nodiscard]] std::size_t alignment() const noexcept { return alignment_; }
  /// Returns the number of blocks of the requested size that were in use.
  [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }

 private:
  std::runtime_error text_;  // strings whose copies do not throw
  std::runtime_error name_;
  std::size_t bytes_;
  std::size_t alignment_;
  std::size_t in_use_;
};

/// Called if a program that is compiled without exceptions would have to throw. The handler runs in
/// the failing thread and receives the exception. When the handler returns, the message is printed
/// to stderr and the program aborts.
using failure_handler = void (*)(const std::exception& failure) noexcept;

/// Replaces the handler of the whole process and returns the previous one; nullptr means no
/// handler. Thread-safe. The handler is not called in programs with exceptions.
failure_handler set_failure_handler(failure_handler handler) noexcept;

}  // namespace lido::inline v0
