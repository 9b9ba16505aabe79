#!/usr/bin/env bash
# All tests: GCC with everything, then Clang with ThreadSanitizer and with AddressSanitizer and
# UndefinedBehaviorSanitizer, Clang, arm64 where there is a cross compiler, clang-tidy and clang-format. With
# --soak the stress drivers and the fuzz targets run for minutes instead of seconds; with --billion the model
# checker tries about a billion executions instead of six million, which takes a night.
set -euo pipefail
cd "$(dirname "$0")/.."

stress_seconds=1
fuzz_seconds=12
executions=300000 # of a small scenario; a large one gets a tenth
most_seconds=300  # for a test that does not say so itself
while [ $# -gt 0 ]; do
  case $1 in
    --soak)
      if [[ ${2:-} =~ ^[0-9]+$ ]]; then stress_seconds=$2 && shift; else stress_seconds=120; fi
      fuzz_seconds=$stress_seconds most_seconds=$((most_seconds + 10 * stress_seconds)) ;;
    --billion) executions=40000000 most_seconds=40000 ;;
    *) echo "usage: scripts/test.sh [--soak [SECONDS]] [--billion]" >&2; exit 2 ;;
  esac
  shift
done

scripts/setup.sh

step() { printf '\n== %s (%s s so far)\n' "$1" "$SECONDS"; }

run_preset() { # preset, further arguments for ctest
  local preset=$1
  shift
  step "$preset: configure and build"
  cmake --preset "$preset" -Wno-dev --no-warn-unused-cli -DLIDO_STRESS_SECONDS="$stress_seconds" \
    -DLIDO_FUZZ_SECONDS="$fuzz_seconds" -DLIDO_MODEL_EXECUTIONS="$executions" >/dev/null
  cmake --build --preset "$preset" -- -v >"build/$preset/build.log" 2>&1 ||
    { grep -E 'error|warning|FAILED|undefined' -A 5 "build/$preset/build.log" | tail -n 80; return 1; }
  step "$preset: test"
  ctest --preset "$preset" --timeout "$most_seconds" --output-on-failure --no-tests=error --output-junit junit.xml \
    --test-output-size-passed 1000000 "$@" 2>&1 | grep -vE '^ *Start +[0-9]+:| Passed +[0-9.]+ sec$'
}

run_preset gcc
run_preset tsan --label-regex 'unit|death|stress|fault|server|chaos'
run_preset asan --label-regex 'unit|death|stress|fault|fuzz|server|chaos'
run_preset clang --label-regex 'unit|report|package|fuzz'
# The library for arm64: its instructions, and under an emulator those of its tests that take seconds there. All of
# them: cmake --workflow --preset arm64.
if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64-static >/dev/null; then
  run_preset arm64 --exclude-regex '^lido_(debug|object|failing_allocation)_tests$'
fi
step "clang-tidy and clang-format"
scripts/tidy.sh build/clang src
step "done"
