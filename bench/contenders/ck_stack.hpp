/// @file
/// Concurrency Kit's ck_stack with the calls for many producers and many consumers: push_upmc,
/// which is push_mpmc under another name, and pop_mpmc, which swaps head and generation at once.
///
/// The entry is in the free object itself, as the library intends. The pool never unmaps its
/// memory, so a late reader of a stale entry reads something, and its swap fails.
#pragma once

// Three functions of this C header convert from void* implicitly, which C++ forbids. With their
// guards defined the header leaves them out, and the rest is valid C++ too.
// NOLINTBEGIN(readability-identifier-naming): ck_stack's own include guards
#define CK_F_STACK_BATCH_POP_UPMC
#define CK_F_STACK_BATCH_POP_MPMC
#define CK_F_STACK_PUSH_MPNC
// NOLINTEND(readability-identifier-naming)
#include <ck_stack.h>

#include "contender.hpp"
#include "slab.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class ck_stack : public contender_defaults {
 public:
  static constexpr std::string_view name{"ck_stack"};
  static constexpr bool fixed_capacity{true};

  explicit ck_stack(const sizing& size) : memory_{size.capacity} {
    ck_stack_init(&stack_);
    for (std::size_t i{0}; i < size.capacity; ++i) {
      ck_stack_push_upmc(&stack_, static_cast<ck_stack_entry_t*>(memory_[i]));
    }
  }

  class session {
   public:
    explicit session(ck_stack& pool) : stack_{&pool.stack_} {}
    [[gnu::always_inline]] void* acquire() { return ck_stack_pop_mpmc(stack_); }
    [[gnu::always_inline]] void release(void* object) {
      ck_stack_push_upmc(stack_, static_cast<ck_stack_entry_t*>(object));
    }

   private:
    ck_stack_t* stack_;
  };

 private:
  static_assert(sizeof(ck_stack_entry_t) <= Bytes);

  slab<Bytes> memory_;
  alignas(64) ck_stack_t stack_{};
};

}  // namespace lido_bench
