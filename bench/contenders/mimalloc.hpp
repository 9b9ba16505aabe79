/// @file
/// mimalloc, through mi_malloc and mi_free.
///
/// Debian ships it only as a shared library that also defines malloc. Linked normally it would
/// replace the C library's malloc for every other contender, so it is loaded separately. The call
/// through a pointer costs as much as a call through the procedure linkage table: both are one
/// indirect jump.
#pragma once

#include <dlfcn.h>
#include <mimalloc.h>

#include <stdexcept>

#include "contender.hpp"

namespace lido_bench {

namespace detail {

struct mimalloc_library {
  decltype(&mi_malloc) allocate;
  decltype(&mi_free) deallocate;

  static const mimalloc_library& get() {
    static const mimalloc_library library{load()};
    return library;
  }

 private:
  static mimalloc_library load() {
    // DEEPBIND: its calls of malloc and free must find its own functions.
    void* const handle{dlopen(LIDO_BENCH_MIMALLOC, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)};
    if (handle == nullptr) {
      throw std::runtime_error{dlerror()};
    }
    // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): dlsym knows no types
    return {reinterpret_cast<decltype(&mi_malloc)>(dlsym(handle, "mi_malloc")),
            reinterpret_cast<decltype(&mi_free)>(dlsym(handle, "mi_free"))};
    // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  }
};

}  // namespace detail

template <std::size_t Bytes>
class mimalloc : public contender_defaults {
 public:
  static constexpr std::string_view name{"mimalloc"};

  explicit mimalloc(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(mimalloc& /*pool*/) {}
    [[gnu::always_inline]] void* acquire() { return library_.allocate(Bytes); }
    [[gnu::always_inline]] void release(void* object) { library_.deallocate(object); }

   private:
    detail::mimalloc_library library_{detail::mimalloc_library::get()};
  };
};

}  // namespace lido_bench
