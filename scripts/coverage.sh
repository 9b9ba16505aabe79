#!/usr/bin/env bash
# Measures branch coverage, with gcovr, of the layers that decide which thread owns a slot. Runs the unit tests, the
# death tests, a short run of the stress drivers, the injected faults and the corpus of the fuzz targets. Fails below
# the floor.
# usage: scripts/coverage.sh [--not-taken]     also: lists the branches that nothing takes
set -euo pipefail
cd "$(dirname "$0")/.."

floor=95 # % of the branches of each layer
list=()
case "${1:-}" in
  "") ;;
  --not-taken) list=(--not-taken) ;;
  *) echo "usage: scripts/coverage.sh [--not-taken]" >&2; exit 2 ;;
esac

cmake --preset coverage -Wno-dev -DLIDO_STRESS_SECONDS=2 >/dev/null
cmake --build --preset coverage >build/coverage/build.log 2>&1 || { tail -n 40 build/coverage/build.log; exit 1; }
find build/coverage -name '*.gcda' -delete
# The run of 200 million operations shows something else, and would take long without optimisation, as would 16 million
# slots. Reports name no line of the user where nothing is inlined. Threads that come and go by the ten thousand take
# minutes and go no other way than a hundred.
left_out='*NamesFileAndLineOf*:*NamesTheFileThatAcquiredIt:SecureExecution.RunsNoProgram*:ReportMaking.SignalsDoNot*'
left_out+=':*OfSixteenMillion*'
run_tests() {
  local program
  for program in build/coverage/tests/{,fault/}lido_*_tests; do
    if [ -x "$program" ]; then
      "$program" --gtest_brief=1 --gtest_filter="-$left_out" || return 1
    fi
  done
  ctest --preset coverage -L 'stress|fault|fuzz' -E '200_million|come_and_go|fault.processes'
}
run_tests >build/coverage/test.log 2>&1 || { tail -n 40 build/coverage/test.log; exit 1; }

layers=(freelist allocator concurrency object)
python3 -B scripts/coverage_branches.py "${list[@]}" --build build/coverage --output build/coverage "${layers[@]}"
failed=0
for layer in "${layers[@]}"; do
  printf '\n== %s\n' "$layer"
  gcovr --add-tracefile "build/coverage/$layer.json" --branches --fail-under-branch "$floor" |
    sed -e '1,/^File /d' || failed=1
done
if [ "$failed" -ne 0 ]; then
  echo "coverage: a layer is below $floor % of its branches; see --not-taken" >&2
fi
exit "$failed"
