#include "lido/pmr/block_resource.hpp"

#include <new>

namespace lido {

block_resource::block_resource(const block_resource_options& options)
    : alignment_(options.alignment),
      upstream_(options.upstream != nullptr ? options.upstream : std::pmr::get_default_resource()),
      overflow_to_upstream_(options.overflow_to_upstream),
      name_(options.name),
      store_({name_, options.block_size, options.alignment, options.capacity, options.max_cached}) {
  block_size_ = store_.block_size();
}

block_resource::~block_resource() = default;

void* block_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
  return take(bytes, alignment);
}

void block_resource::do_deallocate(void* address, std::size_t bytes, std::size_t alignment) {
  give(address, bytes, alignment);
}

bool block_resource::do_is_equal(const memory_resource& other) const noexcept {
  return this == &other;
}

std::uint64_t block_resource::upstream_requests() const noexcept {
  // relaxed: a number for statistics
  return upstream_requests_.load(std::memory_order_relaxed);
}

void* block_resource::take_after_miss(std::size_t bytes, std::size_t alignment) {
  if (fits(bytes, alignment)) {
    if (void* const block = store_.acquire_after_miss(bytes); block != nullptr) {
      return block;
    }
    store_.count_overflow();
    if (!overflow_to_upstream_) {
      throw std::bad_alloc();
    }
  }
  // relaxed: a number for statistics
  upstream_requests_.fetch_add(1, std::memory_order_relaxed);
  return upstream_->allocate(bytes, alignment);
}

void block_resource::give_elsewhere(void* address, std::size_t bytes, std::size_t alignment) {
  upstream_->deallocate(address, bytes, alignment);
}

}  // namespace lido
