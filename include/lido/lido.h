/// @file
/// Public entry: Lido for C, and for other languages through their foreign-function interfaces.
#pragma once

#include "lido/c/pool.h"
#include "lido/version.hpp"
