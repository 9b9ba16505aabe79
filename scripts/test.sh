#!/usr/bin/env bash
# All tests: GCC with everything, then Clang with ThreadSanitizer and with AddressSanitizer and
# UndefinedBehaviorSanitizer, clang-tidy and clang-format. With --soak the stress drivers run for
# minutes instead of a second.
set -euo pipefail
cd "$(dirname "$0")/.."

soak=()
case "${1:-}" in
  "") ;;
  --soak) soak=(-DLIDO_STRESS_SECONDS="${2:-120}") ;;
  *) echo "usage: scripts/test.sh [--soak [SECONDS]]" >&2; exit 2 ;;
esac

scripts/setup.sh

step() { printf '\n== %s (%s s so far)\n' "$1" "$SECONDS"; }

run_preset() { # preset, further arguments for ctest
  local preset=$1
  shift
  step "$preset: configure and build"
  cmake --preset "$preset" -Wno-dev "${soak[@]}" >/dev/null
  cmake --build --preset "$preset" -- -v >"build/$preset/build.log" 2>&1 ||
    { grep -E 'error|warning|FAILED|undefined' -A 5 "build/$preset/build.log" | tail -n 80; return 1; }
  step "$preset: test"
  ctest --preset "$preset" --output-on-failure "$@" 2>&1 | grep -vE '^ *Start +[0-9]+:| Passed +[0-9.]+ sec$'
}

run_preset gcc
run_preset tsan --label-regex 'unit|death|stress|fault'
run_preset asan --label-regex 'unit|death|stress|fault'
run_preset clang --label-regex 'unit|report|package|fault'
step "clang-tidy and clang-format"
scripts/tidy.sh build/clang src stress
step "done"
