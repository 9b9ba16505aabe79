/// @file
/// Internal. Ends the list of what a public entry includes; see `lido/base/words_free.hpp`.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wignored-pragmas"  // read by itself it has nothing to end
#endif
#pragma pop_macro("slots")
#pragma pop_macro("signals")
#pragma pop_macro("emit")
#pragma pop_macro("foreach")
#pragma pop_macro("forever")
#ifdef __clang__
#pragma clang diagnostic pop
#endif
