/// @file
/// tcmalloc (gperftools, the minimal variant without profilers), linked statically with its public
/// symbols renamed.
///
/// Its library defines malloc itself and would replace the C library's for every other contender.
/// Loading it separately fails or costs an indirect call; with renamed symbols the call is a direct
/// one.
#pragma once

#include <cstddef>

#include "contender.hpp"

namespace lido_bench {

// NOLINTBEGIN(readability-identifier-naming): what the build renames the library's symbols to
extern "C" void* lido_bench_tc_malloc(std::size_t size);
extern "C" void lido_bench_tc_free(void* object);
// NOLINTEND(readability-identifier-naming)

template <std::size_t Bytes>
class tcmalloc : public contender_defaults {
 public:
  static constexpr std::string_view name{"tcmalloc"};

  explicit tcmalloc(const sizing& /*size*/) {}

  class session {
   public:
    explicit session(tcmalloc& /*pool*/) {}
    [[gnu::always_inline]] void* acquire() { return lido_bench_tc_malloc(Bytes); }
    [[gnu::always_inline]] void release(void* object) { lido_bench_tc_free(object); }
  };
};

}  // namespace lido_bench
