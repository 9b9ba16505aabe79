/// @file
/// Provides the system's header without the additions of Linux. Included first in each source file
/// of a library that is built for plain POSIX.
#pragma once

#include <sys/mman.h>

#undef MADV_NOHUGEPAGE
#undef MADV_WIPEONFORK
#undef MAP_NORESERVE
