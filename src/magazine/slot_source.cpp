#include "lido/magazine/slot_source_impl.hpp"

namespace lido::detail {

// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final
template class slot_source<treiber_stack<>>;
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final
template class slot_source<growing_treiber_stack<>>;

}  // namespace lido::detail
