/// @file
/// Internal. A factory of any type behind virtual functions, and all code that depends on R.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lido/base/assert.hpp"
#include "lido/base/fail.hpp"
#include "lido/resource/factory.hpp"
#include "lido/resource/slot.hpp"

namespace lido::inline v0::detail {

struct create_outcome;

/// The interface to a factory whose type is hidden. Its functions are called without locks, and for
/// each slot by only one thread at a time. The exception is `interrupt`, which is called during a
/// use, or during a validation or reset of that use.
class factory_hooks {
 public:
  factory_hooks(bool validates, reset_way resets, bool interrupts = false) noexcept
      : validates_(validates), resets_(resets), interrupts_(interrupts) {}
  factory_hooks(const factory_hooks&) = delete;
  factory_hooks& operator=(const factory_hooks&) = delete;
  virtual ~factory_hooks() = default;

  [[nodiscard]] create_outcome create(pool_slot& slot, const create_context& context) noexcept;
  /// Validates a resource, or resets it if `context` is null. Returns false if the resource is
  /// unusable. If the factory's function threw, `text` is then the message of the exception.
  [[nodiscard]] bool check(pool_slot& slot, const create_context* context,
                           std::string& text) noexcept;
  /// Returns true if a use that ended with the exception `thrown` has left the resource clean.
  [[nodiscard]] bool is_clean_after(pool_slot& slot, const std::exception& thrown) noexcept {
    return attempt([&] { return do_judge(slot, thrown); }, [] { return false; });
  }
  /// Ends whatever the user of a resource waits for. Requires: `can_interrupt()`.
  [[LIDO_ASSERTS]] void interrupt(pool_slot& slot) noexcept {
    LIDO_ASSERT(interrupts_, "an interrupt of a factory that has no such function");
    do_interrupt(slot);
  }
  /// Calls the factory's `destroy`, if it has one, and the destructor of R.
  void destroy(pool_slot& slot, destroy_reason reason) noexcept;

  [[nodiscard]] bool can_validate() const noexcept { return validates_; }
  [[nodiscard]] bool can_reset() const noexcept { return resets_ != reset_way::not_at_all; }
  [[nodiscard]] bool can_interrupt() const noexcept { return interrupts_; }
  [[nodiscard]] reset_way way_of_reset() const noexcept { return resets_; }
  /// Resets a resource. Requires: `way_of_reset()` is at_once.
  [[nodiscard, LIDO_ASSERTS]] bool reset_at_once(pool_slot& slot) noexcept {
    LIDO_ASSERT(resets_ == reset_way::at_once, "a reset at once of a factory that may throw");
    return do_reset(slot);
  }

 private:
  /// Creates a resource in the slot. If `create` returned a create_error, moves it to `why` and
  /// returns false.
  [[nodiscard]] virtual bool do_create(pool_slot& slot, const create_context& context,
                                       create_error& why) = 0;
  [[nodiscard]] virtual bool do_validate(pool_slot& slot, const create_context& context) = 0;
  [[nodiscard]] virtual bool do_reset(pool_slot& slot) = 0;
  [[nodiscard]] virtual bool do_judge(pool_slot& slot, const std::exception& thrown) = 0;
  virtual void do_interrupt(pool_slot& slot) noexcept = 0;
  virtual void do_destroy(pool_slot& slot, destroy_reason reason) noexcept = 0;

  bool validates_;
  reset_way resets_;
  bool interrupts_;
};

/// A slot with storage for an R.
template <class R>
class typed_pool_slot : public pool_slot {
  static_assert(std::is_nothrow_destructible_v<R>,
                "lido: resources are destroyed where nothing may throw");

 public:
  [[nodiscard]] void* storage() noexcept { return &storage_; }
  /// Returns the resource in the slot. Requires: the slot holds a resource.
  [[nodiscard]] R& value() noexcept { return *std::launder(static_cast<R*>(storage())); }

 private:
  alignas(R) std::byte storage_[sizeof(R)];
};

/// Makes `size` slots with storage for an R. Used as a slot_maker.
template <class R>
made_slots make_slots(std::uint32_t size) {
  const std::shared_ptr<typed_pool_slot<R>[]> block(new typed_pool_slot<R>[size]);
  pool_slot* const first = block.get();
  return {block, first, sizeof(typed_pool_slot<R>)};
}

/// The hooks of a pool, or of one key. All keys share one factory.
template <class R, class F, class... Key>
class typed_factory_hooks final : public factory_hooks {
 public:
  explicit typed_factory_hooks(std::shared_ptr<F> factory, const Key&... key)
      : factory_hooks(validates<F, R>, reset_of(), interrupts<F, R>),
        factory_(std::move(factory)),
        key_(key...) {}

 private:
  static constexpr reset_way reset_of() noexcept {
    if constexpr (!resets<F, R>) {
      return reset_way::not_at_all;
    } else if constexpr (noexcept(std::declval<F&>().reset(std::declval<R&>()))) {
      return reset_way::at_once;
    } else {
      return reset_way::with_time;
    }
  }
  decltype(auto) call_create(const create_context& context) {
    return std::apply(
        [&](const Key&... key) -> decltype(auto) {
          if constexpr (creates_with_context<F, R, Key...>) {
            return factory_->create(key..., context);
          } else if constexpr (creates<F, R, Key...>) {
            return factory_->create(key...);
          } else {
            return (*factory_)(key...);
          }
        },
        key_);
  }
  [[nodiscard]] bool do_create(pool_slot& slot, const create_context& context,
                               [[maybe_unused]] create_error& why) override {
    void* const storage = static_cast<typed_pool_slot<R>&>(slot).storage();
    using result = decltype(call_create(context));
    if constexpr (std::is_same_v<result, create_result<R>>) {
      result made = call_create(context);
      if (auto* const error = std::get_if<create_error>(&made)) {
        why = std::move(*error);
        return false;
      }
      ::new (storage) R(std::get<R>(std::move(made)));
    } else {
      ::new (storage) R(call_create(context));
    }
    return true;
  }
  [[nodiscard]] bool do_validate(pool_slot& slot, const create_context& context) override {
    R& resource = value(slot);
    if constexpr (validates_with_context<F, R>) {
      return factory_->validate(resource, context);
    } else if constexpr (validates<F, R>) {
      return factory_->validate(resource);
    }
    return true;
  }
  [[nodiscard]] bool do_reset(pool_slot& slot) override {
    R& resource = value(slot);
    if constexpr (may_refuse<F, R>) {
      return factory_->reset(resource);
    } else if constexpr (resets<F, R>) {
      factory_->reset(resource);
    }
    return true;
  }
  [[nodiscard]] bool do_judge([[maybe_unused]] pool_slot& slot,
                              [[maybe_unused]] const std::exception& thrown) override {
    if constexpr (judges<F, R>) {
      return factory_->is_clean_after(value(slot), thrown);
    } else {
      return false;
    }
  }
  void do_interrupt([[maybe_unused]] pool_slot& slot) noexcept override {
    if constexpr (interrupts<F, R>) {
      factory_->interrupt(value(slot));
    }
  }
  void do_destroy(pool_slot& slot, destroy_reason reason) noexcept override {
    R& resource = value(slot);
    if constexpr (destroys<F, R>) {
      static_assert(noexcept(factory_->destroy(resource, reason)),
                    "lido: destroy of a resource factory must be noexcept");
      factory_->destroy(resource, reason);
    }
    resource.~R();
  }
  [[nodiscard]] static R& value(pool_slot& slot) noexcept {
    return static_cast<typed_pool_slot<R>&>(slot).value();
  }

  const std::shared_ptr<F> factory_;
  const std::tuple<Key...> key_;
};

/// Makes the hooks of a pool without keys, or of one key. Returns null for an F that
/// `share_factory` rejects.
template <class R, class F, class... Key>
[[nodiscard]] std::shared_ptr<factory_hooks> make_hooks(std::shared_ptr<F> factory,
                                                        const Key&... key) {
  if constexpr (is_factory<F, R, Key...>) {
    return std::make_shared<typed_factory_hooks<R, F, Key...>>(std::move(factory), key...);
  } else {
    return nullptr;
  }
}

}  // namespace lido::inline v0::detail
