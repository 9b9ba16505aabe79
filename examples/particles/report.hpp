/// @file
/// The particle demo's output on stdout.
#pragma once

#include <string_view>
#include <vector>

#include "demand.hpp"
#include "options.hpp"
#include "show.hpp"

namespace particles {

/// Name of the picture that shows all of them, if there are several.
constexpr std::string_view sheet_name = "all.png";

void print_plan(const options& wanted, const demand& load);
void print_showing(const showing& one, const options& wanted);
void print_wrong(const showing& one);

/// Prints what was verified, if it was, which answers were never needed, and where the pictures
/// are.
void print_verdict(const options& wanted, bool all_there, const std::vector<answer>& never_full);

}  // namespace particles
