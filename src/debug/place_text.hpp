/// @file
/// Internal. Function, file and line of an address, as well as they can be had.
#pragma once

#include "lido/debug/place.hpp"
#include "report_text.hpp"

namespace lido::detail {

/// Appends e.g. `serve() at server.cpp:41 (server+0x1a2b)`. The function is that of the dynamic
/// symbols or, like file and line, of the debug information, for which addr2line(1) is run if it is
/// there; LIDO_ADDR2LINE in the environment names another program, or none if it is empty.
void describe(report_text& text, place at) noexcept;

}  // namespace lido::detail
