/// @file
/// The contenders that the build found.
#pragma once

#include <string_view>

namespace lido_bench {

/// Registers every workload of every contender of this build.
void register_all();

/// Returns the names of the contenders whose libraries were absent, separated by commas.
std::string_view absent_contenders();

}  // namespace lido_bench
