/// @file
/// Internal. Ends the list of what a public entry includes; see `lido/base/words_free.hpp`.
#pragma pop_macro("slots")
#pragma pop_macro("signals")
#pragma pop_macro("emit")
#pragma pop_macro("foreach")
#pragma pop_macro("forever")
