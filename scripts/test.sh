#!/usr/bin/env bash
# All tests: GCC with everything, then Clang with ThreadSanitizer and with AddressSanitizer and
# UndefinedBehaviorSanitizer, and what these two do not build: Clang's optimised library, packages and examples; arm64
# where there are a cross compiler and an emulator, clang-tidy and clang-format. With --soak the unit tests run with
# optimised Clang, too, and all of them for arm64; the stress drivers and the fuzz targets run for minutes instead of
# seconds, and then docs/verification.md is written anew, with what else it shows: the branches taken, the cost of
# checked pools, and what plain stress misses. With --billion the model checker may try 40 million executions of a
# scenario instead of 300,000.
set -euo pipefail
cd "$(dirname "$0")/.."

soak=no
stress_seconds=1
fuzz_seconds=12
executions=300000 # of a small scenario; a large one gets a tenth
most_seconds=300  # for a test that does not say so itself
while [ $# -gt 0 ]; do
  case $1 in
    --soak)
      soak=yes
      if [[ ${2:-} =~ ^[0-9]+$ ]]; then stress_seconds=$2 && shift; else stress_seconds=120; fi
      fuzz_seconds=$stress_seconds most_seconds=$((most_seconds + 10 * stress_seconds)) ;;
    --billion) executions=40000000 most_seconds=40000 ;;
    *) echo "usage: scripts/test.sh [--soak [SECONDS]] [--billion]" >&2; exit 2 ;;
  esac
  shift
done

scripts/setup.sh

step() { printf '\n== %s (%s s so far)\n' "$1" "$SECONDS"; }

run_preset() { # preset, further definitions for cmake in one word, further arguments for ctest
  local preset=$1 definitions=$2
  shift 2
  step "$preset: configure and build"
  cmake --preset "$preset" -Wno-dev --no-warn-unused-cli -DLIDO_STRESS_SECONDS="$stress_seconds" \
    -DLIDO_FUZZ_SECONDS="$fuzz_seconds" -DLIDO_MODEL_EXECUTIONS="$executions" $definitions >/dev/null
  cmake --build --preset "$preset" -- -v >"build/$preset/build.log" 2>&1 ||
    { grep -E 'error|warning|FAILED|undefined' -A 5 "build/$preset/build.log" | tail -n 80; return 1; }
  step "$preset: test"
  ctest --preset "$preset" --timeout "$most_seconds" --output-on-failure --no-tests=error --output-junit junit.xml \
    --test-output-size-passed 1000000 "$@" 2>&1 | grep -vE '^ *Start +[0-9]+:| Passed +[0-9.]+ sec$'
}

run_preset gcc ''
run_preset tsan '' --label-regex 'unit|death|stress|fault|server|chaos'
run_preset asan '' --label-regex 'unit|death|stress|fault|fuzz|server|chaos'
if [ "$soak" = yes ]; then
  run_preset clang '-DLIDO_UNIT_LAYERS=all -DLIDO_BUILD_STRESS=ON' --label-regex 'unit|report|package|fuzz'
else
  run_preset clang '-DLIDO_UNIT_LAYERS=none -DLIDO_BUILD_STRESS=OFF' --label-regex 'report|package'
fi
# The library for arm64: its instructions, and its unit tests under an emulator; the layers that processors differ in,
# or all. What of them is not run there is said as the commands themselves have it.
layers='base;concurrency;rmw_counter;freelist;magazine;memory'
[ "$soak" = no ] || layers=all
if command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64-static >/dev/null; then
  run_preset arm64 "-DLIDO_UNIT_LAYERS=$layers"
  echo "arm64, left out: all that is no unit test and no look at instructions; of the unit tests, layers other than"
  echo "$layers; and of these, for the reasons in tests/CMakeLists.txt:"
  ctest --preset arm64 --show-only --verbose | sed -nE 's/.*--gtest_filter=-([^" ]+).*/\1/p' | sort -u | tr ':' '\n' | sed 's/^/  /'
else
  echo "arm64, left out altogether: no aarch64-linux-gnu-g++ or no qemu-aarch64-static"
fi
step "clang-tidy and clang-format"
scripts/tidy.sh build/clang src
if [ "$soak" = yes ]; then
  step "branches, checked pools, plain stress, chaos"
  missed=() # goes into the report, too
  for script in coverage.sh measure_checked.py stress_mutants.py soak_chaos.py; do
    "scripts/$script" || missed+=("$script")
  done
  scripts/report_verification.py
  [ ${#missed[@]} -eq 0 ] || { echo "missed: ${missed[*]}" >&2; exit 1; }
fi
step "done"
