/// @file
/// Public entry: Lido for C, and for other languages by their foreign-function interfaces.
#pragma once

#include "lido/c/pool.h"
#include "lido/version.hpp"
