/// @file
/// Shared by libcds' two free lists: a slot is the list's node and the object behind it, as the
/// documentation of libcds shows.
///
/// TaggedFreeList swaps 16 bytes at once. GCC and libstdc++ send that through libatomic, which uses
/// cmpxchg16b where the processor has it, yet reports that it is not lock-free. The library asserts
/// the opposite; the bench sets NDEBUG for these two, which turns the assertion off.
#pragma once

#include <cds/intrusive/free_list_cached.h>
#include <cds/intrusive/free_list_tagged.h>

#include <vector>

#include "contender.hpp"

namespace lido_bench {

template <std::size_t Bytes, typename List>
class libcds_free_list : public contender_defaults {
 public:
  static constexpr bool fixed_capacity{true};

  explicit libcds_free_list(const sizing& size) : slots_(size.capacity) {
    for (slot& each : slots_) {
      list_.put(&each);
    }
  }
  libcds_free_list(const libcds_free_list&) = delete;
  libcds_free_list& operator=(const libcds_free_list&) = delete;
  ~libcds_free_list() {
    list_.clear([](node* /*node*/) {});
  }

  class session {
   public:
    explicit session(libcds_free_list& pool) : list_{pool.list_} {}
    [[gnu::always_inline]] void* acquire() {
      node* const taken{list_.get()};
      return taken == nullptr ? nullptr : &static_cast<slot*>(taken)->object;
    }
    [[gnu::always_inline]] void release(void* object) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): back from object to slot
      list_.put(reinterpret_cast<slot*>(static_cast<std::byte*>(object) - object_offset));
    }

   private:
    List& list_;
  };

 private:
  using node = typename List::node;
  struct slot : node {
    block<Bytes> object;
  };
  static constexpr std::size_t object_offset{(sizeof(node) + alignof(block<Bytes>) - 1) /
                                             alignof(block<Bytes>) * alignof(block<Bytes>)};

  std::vector<slot> slots_;
  List list_;
};

}  // namespace lido_bench
