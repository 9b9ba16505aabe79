/// @file
/// Internal. Opens the list of what a public entry includes: takes away the macros that Qt makes of
/// plain words, so that its headers may come first. `lido/base/words_back.hpp` ends the list.
// Without #pragma once: each entry needs it, also one within another.
#pragma push_macro("slots")
#undef slots
#pragma push_macro("signals")
#undef signals
#pragma push_macro("emit")
#undef emit
#pragma push_macro("foreach")
#undef foreach
#pragma push_macro("forever")
#undef forever
