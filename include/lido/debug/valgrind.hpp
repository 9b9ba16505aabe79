/// @file
/// Internal. Tells Valgrind which slots are free. Nothing where Lido was built without its header.
#pragma once

#include <cstddef>

namespace lido::detail {

/// Whether this process runs under Valgrind and Lido was built to talk to it. All others below may
/// only be called if so.
[[nodiscard]] bool under_valgrind() noexcept;

/// `pool` is any address that names the pool. All of the bytes become inaccessible.
void valgrind_create_pool(const void* pool, const void* first, std::size_t bytes) noexcept;
void valgrind_destroy_pool(const void* pool, const void* first, std::size_t bytes) noexcept;

/// From here until `valgrind_acquire` the checks may read the free slot.
void valgrind_peek(const void* slot, std::size_t size) noexcept;
void valgrind_acquire(const void* pool, const void* slot, std::size_t size) noexcept;
void valgrind_release(const void* pool, const void* slot, std::size_t size) noexcept;

}  // namespace lido::detail
