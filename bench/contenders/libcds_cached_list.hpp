/// @file
/// libcds' CachedFreeList: sixteen one-object cells by hash of the thread, before a TaggedFreeList.
#pragma once

#include "libcds_free_list.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class libcds_cached_list
    : public libcds_free_list<Bytes,
                              cds::intrusive::CachedFreeList<cds::intrusive::TaggedFreeList>> {
 public:
  static constexpr std::string_view name{"libcds_cached_list"};
  using libcds_free_list<
      Bytes, cds::intrusive::CachedFreeList<cds::intrusive::TaggedFreeList>>::libcds_free_list;
};

}  // namespace lido_bench
