/// @file
/// A sparse set like EnTT's, as a contender of the benches: entities from a registry, their values
/// contiguous in pages. The interface is that of containers.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "objects.hpp"

namespace lido_bench {

/// An entity has 20 bits of index and 12 of version, EnTT's default: an old one is taken for a new
/// one after 4,096 uses. Sparse pages map an entity to its position; values are in pages of 1,024,
/// so that growth does not move them. An erase moves the last value.
class sparse_set {
 public:
  static constexpr bool keeps_handles = true;
  static constexpr std::string_view name = "sparse_set";
  using handle = std::uint32_t;

  handle add(std::int32_t points) {
    handle entity = static_cast<handle>(entities_.size());
    if (free_ != none) {
      entity = std::exchange(free_, entities_[free_ & index_bits]);
      entities_[entity & index_bits] = entity;
    } else {
      entities_.push_back(entity);
      sparse_.push_back({});
    }
    const auto position = static_cast<std::uint32_t>(packed_.size());
    if (position / page_size == pages_.size()) {
      pages_.push_back(std::make_unique<page>());
    }
    at(position) = object(points);
    packed_.push_back(entity);
    sparse_[entity & index_bits] = {position, entity};
    return entity;
  }
  void remove(handle entity) {
    if (!is_good(entity)) {
      return;
    }
    const std::uint32_t position = sparse_[entity & index_bits].position;
    const handle last = packed_.back();
    at(position) = at(static_cast<std::uint32_t>(packed_.size() - 1));
    packed_[position] = last;
    sparse_[last & index_bits].position = position;
    packed_.pop_back();
    sparse_[entity & index_bits].entity = none;
    entities_[entity & index_bits] = std::exchange(free_, entity + version_step);
  }
  object* find(handle entity) {
    return is_good(entity) ? &at(sparse_[entity & index_bits].position) : nullptr;
  }
  template <class F>
  void walk(F f) {
    std::size_t left = packed_.size();
    for (auto& values : pages_) {
      const std::size_t here = left < page_size ? left : page_size;
      for (std::size_t i = 0; i != here; ++i) {
        f((*values)[i]);
      }
      left -= here;
    }
  }
  template <class F>
  void prune(F f) {
    for (auto position = static_cast<std::uint32_t>(packed_.size()); position-- > 0;) {
      if (f(at(position))) {
        remove(packed_[position]);
      }
    }
  }
  template <class F>
  void walk_and_collect(F f) {
    for (std::uint32_t position = 0; position != packed_.size(); ++position) {
      if (f(at(position))) {
        dead_.push_back(packed_[position]);
      }
    }
  }
  void release() {
    for (const handle entity : dead_) {
      remove(entity);
    }
    dead_.clear();
  }
  [[nodiscard]] std::size_t size() const { return packed_.size(); }

 private:
  static constexpr handle index_bits = 0xF'FFFF;
  static constexpr handle version_step = index_bits + 1;
  static constexpr handle none = 0xFFFF'FFFF;
  static constexpr std::size_t page_size = 1024;
  using page = std::array<object, page_size>;
  struct entry {
    std::uint32_t position = 0;
    handle entity = none;
  };

  [[nodiscard]] bool is_good(handle entity) const {
    return (entity & index_bits) < sparse_.size() && sparse_[entity & index_bits].entity == entity;
  }
  object& at(std::uint32_t position) {
    return (*pages_[position / page_size])[position % page_size];
  }

  std::vector<handle> entities_;  ///< the entity itself, or the next free one
  std::vector<entry> sparse_;
  std::vector<handle> packed_;
  std::vector<std::unique_ptr<page>> pages_;
  std::vector<handle> dead_;
  handle free_ = none;
};

}  // namespace lido_bench
