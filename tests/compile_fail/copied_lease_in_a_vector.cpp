#include <vector>

#include "lido/object_pool.hpp"

using lease_of_long = lido::object_pool<long>::lease_type;

void copied_lease_in_a_vector(std::vector<lease_of_long>& held, const lease_of_long& one) {
  held.push_back(one);
}
