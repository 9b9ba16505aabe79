/// @file
/// Public entry: pools whose making may fail without an exception.
#pragma once

#include "lido/base/exceptions_agree.hpp"
#include "lido/base/try_make.hpp"
