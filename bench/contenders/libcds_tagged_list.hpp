/// @file
/// libcds' TaggedFreeList: a stack with a tagged head.
#pragma once

#include "libcds_free_list.hpp"

namespace lido_bench {

template <std::size_t Bytes>
class libcds_tagged_list : public libcds_free_list<Bytes, cds::intrusive::TaggedFreeList> {
 public:
  static constexpr std::string_view name{"libcds_tagged_list"};
  using libcds_free_list<Bytes, cds::intrusive::TaggedFreeList>::libcds_free_list;
};

}  // namespace lido_bench
