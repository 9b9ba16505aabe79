/// @file
/// Included first in each source of a library for plain POSIX: the system's header without what
/// Linux adds.
#pragma once

#include <sys/mman.h>

#undef MADV_NOHUGEPAGE
#undef MADV_WIPEONFORK
#undef MAP_NORESERVE
