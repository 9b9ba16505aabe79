/// @file
/// A model of a pool as seen from outside: the set of objects in use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fuzz/check.hpp"
#include "fuzz/payload.hpp"

namespace fuzz {

class pool_model {
 public:
  explicit pool_model(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] std::size_t out() const { return out_.size(); }
  [[nodiscard]] std::size_t free() const { return capacity_ - out_.size(); }
  [[nodiscard]] bool has(const payload* object) const {
    return std::any_of(out_.begin(), out_.end(),
                       [=](const entry& e) { return e.object == object; });
  }

  /// Records that the pool has handed out `object`; gives it a stamp that no other object has.
  void add(payload& object) {
    check(!has(&object), "an object is handed out twice");
    check(out_.size() < capacity_, "more objects are out than the pool has");
    object.restamp(++last_stamp_);
    out_.push_back({&object, last_stamp_});
  }

  /// Records that `object` is about to be released.
  void remove(const payload& object) {
    const auto found =
        std::find_if(out_.begin(), out_.end(), [&](const entry& e) { return e.object == &object; });
    check(found != out_.end(), "the target itself has lost count");
    check(found->stamp == object.stamp(), "an object was written to by someone else");
    *found = out_.back();
    out_.pop_back();
  }

 private:
  struct entry {
    const payload* object;
    std::uint32_t stamp;
  };

  std::size_t capacity_;
  std::vector<entry> out_;
  std::uint32_t last_stamp_ = 0;
};

}  // namespace fuzz
