/// @file
/// Internal. The interface of a shared free list: a LIFO of indices that any thread may use.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "lido/base/slot_index.hpp"
#include "lido/concurrency/zeroed_array.hpp"

namespace lido::inline v0 {
namespace detail {

/// A list of indices from 0 to nodes - 1, each in it at most once. All operations are thread-safe;
/// none allocates after construction.
class index_list {
 public:
  index_list() = default;
  index_list(const index_list&) = delete;
  index_list& operator=(const index_list&) = delete;
  virtual ~index_list() = default;

  virtual void push(slot_index index) noexcept = 0;
  /// Pushes all of `chain`; its first element is then on top.
  virtual void push_chain(std::span<const slot_index> chain) noexcept = 0;
  /// Pops the top index; returns null_slot if the list is empty.
  [[nodiscard]] virtual slot_index pop() noexcept = 0;
  /// Pops up to out.size() indices; returns their number.
  [[nodiscard]] virtual std::uint32_t pop_chain(std::span<slot_index> out) noexcept = 0;

  [[nodiscard]] virtual bool empty() const noexcept = 0;
  /// Returns a number that only pushes change. Two equal versions with `empty()` true between them
  /// prove that it stayed empty from then on; versions of two lists may be added.
  [[nodiscard]] virtual std::uint64_t version() const noexcept = 0;
  /// Returns the number of bytes that the list owns beside itself.
  [[nodiscard]] virtual std::size_t memory() const noexcept = 0;

  /// Adds links for the indices below `nodes`, beside any other operation; one thread at a time.
  /// Returns 0, or the system's error number; the list is then unchanged.
  [[nodiscard]] virtual int extend_to(std::uint32_t /*nodes*/) noexcept { return ENOTSUP; }
};

}  // namespace detail

/// A free list that a pool uses in place of Lido's own.
class shared_list {
 public:
  shared_list() = default;
  shared_list(const shared_list&) = delete;
  shared_list& operator=(const shared_list&) = delete;

  /// Returns true if growing pools can use it.
  [[nodiscard]] virtual bool can_grow() const noexcept = 0;

  /// Returns `memory()` of a list with links for so many indices.
  [[nodiscard]] virtual std::size_t bytes_needed(std::uint32_t nodes) const noexcept = 0;

  /// Makes a list with the indices from `first` to nodes - 1, low ones on top. One that grows has
  /// links for none at first. Throws std::bad_alloc.
  [[nodiscard]] virtual std::unique_ptr<detail::index_list> make(std::uint32_t nodes,
                                                                 detail::slot_index first,
                                                                 detail::growth kind) const = 0;

 protected:
  ~shared_list() = default;
};

}  // namespace lido::inline v0
