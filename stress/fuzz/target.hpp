/// @file
/// The function that libFuzzer and the replay call, with the name and the types that libFuzzer
/// requires (llvm.org/docs/LibFuzzer.html).
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
