/// @file
/// Public entry: the version of Lido, as macros that C can also read. CMake, pkg-config and the
/// packages read the version from this file.
#pragma once

#define LIDO_VERSION_MAJOR 0
#define LIDO_VERSION_MINOR 1
#define LIDO_VERSION_PATCH 0

/// Number of the binary interface. The names of the shared library and of the inline namespace
/// contain it, too: `liblido.so.0`, `lido::v0`. A release that requires programs to be recompiled
/// increments it.
#define LIDO_ABI_VERSION 0

/// Version as one number, for comparisons in `#if`: 100 for 0.1.0, 10203 for 1.2.3.
#define LIDO_VERSION (LIDO_VERSION_MAJOR * 10000 + LIDO_VERSION_MINOR * 100 + LIDO_VERSION_PATCH)
