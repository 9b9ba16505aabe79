/// @file
/// What the particle demo prints on stdout.
#pragma once

#include <string_view>
#include <vector>

#include "demand.hpp"
#include "options.hpp"
#include "show.hpp"

namespace particles {

/// Of the picture that shows all of them, if there are several.
constexpr std::string_view sheet_name = "all.png";

void print_plan(const options& wanted, const demand& load);
void print_showing(const showing& one, const options& wanted);
void print_wrong(const showing& one);

/// What was verified, if it was, which answers were never asked for, and where the pictures are.
void print_verdict(const options& wanted, bool all_there, const std::vector<answer>& never_full);

}  // namespace particles
