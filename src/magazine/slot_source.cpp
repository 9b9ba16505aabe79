#include "lido/magazine/slot_source_impl.hpp"

namespace lido::detail {

template class slot_source<treiber_stack<>>;

}  // namespace lido::detail
