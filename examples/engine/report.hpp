/// @file
/// The demo's output on stdout.
#pragma once

#include <string>
#include <vector>

#include "chunk.hpp"
#include "contest.hpp"
#include "corpus.hpp"
#include "options.hpp"
#include "totals.hpp"

namespace demo {

void print_input(const options& wanted, const corpus& input, const std::vector<chunk>& work);
void print_types(const corpus& input, const totals& found);
void print_standings(const std::vector<standing>& standings, const corpus& input,
                     const std::vector<chunk>& work, const options& wanted);
void print_mismatches(const std::vector<std::string>& lines);

}  // namespace demo
