/// @file
/// Internal. Where R enters: its storage in a slot, and a factory of any type behind virtual calls.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "lido/resource/factory.hpp"
#include "lido/resource/resource_slot.hpp"

namespace lido::detail {

template <class R>
class typed_slot : public resource_slot {
 public:
  [[nodiscard]] void* storage() noexcept { return &storage_; }
  /// Requires: there is one.
  [[nodiscard]] R& value() noexcept { return *std::launder(static_cast<R*>(storage())); }

 private:
  alignas(R) std::byte storage_[sizeof(R)];
};

template <class R>
class typed_block : public slot_block {
 public:
  explicit typed_block(std::uint32_t size) : typed_block(new typed_slot<R>[size], size) {}

  static std::unique_ptr<slot_block> make(std::uint32_t size) {
    return std::make_unique<typed_block>(size);
  }

 private:
  typed_block(typed_slot<R>* slots, std::uint32_t size)
      : slot_block(slots, sizeof(typed_slot<R>), size), slots_(slots) {}

  std::unique_ptr<typed_slot<R>[]> slots_;
};

/// Two calls for the same slot never overlap; calls for different ones do.
template <class R, class F>
class typed_hooks : public resource_hooks {
 public:
  explicit typed_hooks(F factory)
      : resource_hooks(validates<F, R> || validates_with_context<F, R>, resets<F, R>),
        factory_(std::move(factory)) {}

 private:
  void do_create(resource_slot& slot, const create_context& context) override {
    void* const storage = static_cast<typed_slot<R>&>(slot).storage();
    if constexpr (creates_with_context<F, R>) {
      ::new (storage) R(factory_.create(context));
    } else if constexpr (creates_alone<F, R>) {
      ::new (storage) R(factory_.create());
    } else {
      ::new (storage) R(factory_());
    }
  }

  [[nodiscard]] bool do_validate(resource_slot& slot,
                                 const create_context& context) noexcept override {
    R& resource = value(slot);
    try {
      if constexpr (validates_with_context<F, R>) {
        return factory_.validate(resource, context);
      } else if constexpr (validates<F, R>) {
        return factory_.validate(resource);
      }
    } catch (...) {
      return false;
    }
    return true;
  }

  [[nodiscard]] bool do_reset(resource_slot& slot) noexcept override {
    R& resource = value(slot);
    try {
      if constexpr (may_refuse<F, R>) {
        return factory_.reset(resource);
      } else if constexpr (resets<F, R>) {
        factory_.reset(resource);
      }
    } catch (...) {
      return false;
    }
    return true;
  }

  void do_destroy(resource_slot& slot, destroy_reason reason) noexcept override {
    R& resource = value(slot);
    if constexpr (destroys<F, R>) {
      static_assert(noexcept(factory_.destroy(resource, reason)),
                    "lido: destroy of a resource factory must be noexcept");
      factory_.destroy(resource, reason);
    }
    resource.~R();
  }

  [[nodiscard]] static R& value(resource_slot& slot) noexcept {
    return static_cast<typed_slot<R>&>(slot).value();
  }

  F factory_;
};

}  // namespace lido::detail
