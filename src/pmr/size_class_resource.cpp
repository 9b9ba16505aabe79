#include "lido/pmr/size_class_resource.hpp"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "lido/base/error.hpp"

namespace lido {

namespace {

bool smaller(const size_class& left, const size_class& right) noexcept {
  return left.block_size < right.block_size;
}

void check_count(std::string_view name, std::size_t count) {
  if (count == 0 || count > size_class_resource::most_classes) {
    detail::throw_invalid_option(name, std::to_string(count) +
                                           " size classes are not between 1 and " +
                                           std::to_string(size_class_resource::most_classes));
  }
}

}  // namespace

size_class_resource::size_class_resource(std::vector<size_class> classes,
                                         const size_class_options& options)
    : alignment_(options.alignment),
      count_(classes.size()),
      upstream_(options.upstream != nullptr ? options.upstream : std::pmr::get_default_resource()),
      overflow_to_upstream_(options.overflow_to_upstream),
      name_(options.name) {
  check_count(name_, count_);
  std::sort(classes.begin(), classes.end(), smaller);
  for (std::size_t i = 0; i < count_; ++i) {
    stores_[i] = std::make_unique<detail::block_store>(detail::block_layout{
        name_, classes[i].block_size, options.alignment, classes[i].capacity, options.max_cached});
    if (i > 0 && stores_[i]->block_size() == stores_[i - 1]->block_size()) {
      detail::throw_invalid_option(
          name_, "two size classes of " + std::to_string(stores_[i]->block_size()) + " bytes");
    }
  }
  fill_table();
}

size_class_resource::~size_class_resource() = default;

void size_class_resource::fill_table() noexcept {
  for (std::size_t granules = 0; granules < table_.size(); ++granules) {
    table_[granules] = static_cast<std::uint8_t>(search(granules * granule));
  }
}

/// The smallest class for so many bytes; count_ if there is none.
std::size_t size_class_resource::search(std::size_t bytes) const noexcept {
  std::size_t number = 0;
  while (number < count_ && stores_[number]->block_size() < bytes) {
    ++number;
  }
  return number;
}

/// Null if there is no class for so many bytes.
detail::block_store* size_class_resource::store_for(std::size_t bytes) const noexcept {
  return bytes <= most_tabled ? tabled_store(bytes) : stores_[search(bytes)].get();
}

void* size_class_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes <= most_tabled && alignment <= alignment_) [[likely]] {
    detail::block_store* const store = tabled_store(bytes);
    if (void* block = nullptr; store != nullptr && store->try_hit(block, bytes)) [[likely]] {
      return block;
    }
  }
  return take_after_miss(bytes, alignment);
}

void size_class_resource::do_deallocate(void* address, std::size_t bytes, std::size_t alignment) {
  if (bytes <= most_tabled) [[likely]] {
    detail::block_store* const store = tabled_store(bytes);
    if (store != nullptr && store->owns(address)) [[likely]] {
      store->release(address);
      return;
    }
  }
  give_elsewhere(address, bytes, alignment);
}

bool size_class_resource::do_is_equal(const memory_resource& other) const noexcept {
  return this == &other;
}

void* size_class_resource::take_after_miss(std::size_t bytes, std::size_t alignment) {
  detail::block_store* const store = store_for(bytes);
  if (store != nullptr && alignment <= alignment_) {
    void* block = nullptr;
    if ((bytes > most_tabled && store->try_hit(block, bytes)) ||
        (block = store->acquire_after_miss(bytes)) != nullptr) {
      return block;
    }
    store->count_overflow();
    if (!overflow_to_upstream_) {
      throw std::bad_alloc();
    }
  }
  // relaxed: a number for statistics
  upstream_requests_.fetch_add(1, std::memory_order_relaxed);
  return upstream_->allocate(bytes, alignment);
}

/// The address decides, so that a wrong size does no harm.
void size_class_resource::give_elsewhere(void* address, std::size_t bytes, std::size_t alignment) {
  if (detail::block_store* const owner = owner_of(address); owner != nullptr) {
    owner->release(address);
  } else {
    upstream_->deallocate(address, bytes, alignment);
  }
}

detail::block_store* size_class_resource::owner_of(const void* address) const noexcept {
  const auto stores = std::span(stores_).first(count_);
  const auto found = std::find_if(stores.begin(), stores.end(),
                                  [&](const auto& store) { return store->owns(address); });
  return found != stores.end() ? found->get() : nullptr;
}

bool size_class_resource::owns(const void* address) const noexcept {
  return owner_of(address) != nullptr;
}

std::vector<block_stats> size_class_resource::stats() const {
  std::vector<block_stats> stats;
  for (const auto& store : std::span(stores_).first(count_)) {
    stats.push_back(store->stats());
  }
  return stats;
}

std::uint64_t size_class_resource::upstream_requests() const noexcept {
  // relaxed: a number for statistics
  return upstream_requests_.load(std::memory_order_relaxed);
}

}  // namespace lido
