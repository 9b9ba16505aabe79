/// @file
/// Internal. The factory of all keys as the factory of one.
#pragma once

#include <memory>
#include <utility>

#include "lido/resource/keyed_options.hpp"

namespace lido::detail {

/// Has the functions that F has.
template <class Key, class R, class F>
class keyed_factory {
 public:
  keyed_factory(std::shared_ptr<F> all, Key key) : all_(std::move(all)), key_(std::move(key)) {}

  auto create(const create_context& context) {
    if constexpr (creates_for_key_with_context<F, Key, R>) {
      return all_->create(key_, context);
    } else if constexpr (creates_for_key<F, Key, R>) {
      return all_->create(key_);
    } else {
      return (*all_)(key_);
    }
  }

  bool validate(R& resource, const create_context& context) requires(validates<F, R> ||
                                                                     validates_with_context<F, R>) {
    if constexpr (validates_with_context<F, R>) {
      return all_->validate(resource, context);
    } else {
      return all_->validate(resource);
    }
  }

  bool reset(R& resource) requires(resets<F, R>) {
    if constexpr (may_refuse<F, R>) {
      return all_->reset(resource);
    } else {
      all_->reset(resource);
      return true;
    }
  }

  void destroy(R& resource, destroy_reason reason) noexcept requires(destroys<F, R>) {
    static_assert(noexcept(all_->destroy(resource, reason)),
                  "lido: destroy of a resource factory must be noexcept");
    all_->destroy(resource, reason);
  }

 private:
  std::shared_ptr<F> all_;
  Key key_;
};

}  // namespace lido::detail
