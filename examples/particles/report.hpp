/// @file
/// What the particle demo prints on stdout.
#pragma once

#include "demand.hpp"
#include "options.hpp"
#include "show.hpp"

namespace particles {

void print_plan(const options& wanted, const demand& load);
void print_showing(const showing& one, const options& wanted);
void print_wrong(const showing& one);

/// What was verified, if it was, and where the pictures are.
void print_verdict(const options& wanted, bool all_there);

}  // namespace particles
