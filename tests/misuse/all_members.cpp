// All members of the public templates, for same_bodies.py.
#include <string>

#include "lido/lido.hpp"
#include "lido/testing.hpp"

namespace lido {

template class lease<int>;
template class object_pool<int>;
template class slot_map<int>;
template class slot_map<std::string>;
template class slot_pointer<slot_map<int>>;
template class slot_map_iterator<slot_map<int>>;
template class secondary_map<int, int>;
template class concurrent_slot_map<int>;
template class block_allocator<int>;
template class resource_lease<int>;
template class acquire_result<int>;
template class resource_pool<int>;
template class keyed_resource_pool<std::string, int>;

}  // namespace lido
