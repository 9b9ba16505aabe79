#!/usr/bin/env bash
# Tests that a contender from outside the tree runs beside the floor: the file bench/my_pool.hpp in another folder.
# One whose name cannot be built, or whose class has another name, is refused with a message, before anything is installed or
# built. Warnings in an outside header are no errors.
# Usage: own_contender_test.sh SOURCE_FOLDER BUILD_FOLDER
set -euo pipefail
outside=$(mktemp -d)
trap 'rm -rf "$outside"' EXIT
for name in my-pool 2pools my.pool floor lido_default other_pool; do
  cp "$1/bench/my_pool.hpp" "$outside/$name.hpp"
  status=0
  LIDO_BENCH_BUILD=$outside/build "$1/scripts/bench.sh" --no-install --contender "$outside/$name.hpp" >"$outside/said" 2>&1 || status=$?
  [ $status -eq 2 ] && [ "$(grep -c "^bench: --contender .*/$name.hpp: .* rename" "$outside/said")" -eq 1 ] ||
    { echo "FAILED: $name.hpp is not refused in one sentence" && cat "$outside/said"; exit 1; } >&2
done
grep -q 'the header has no other_pool but my_pool' "$outside/said" ||
  { echo "FAILED: other_pool.hpp is refused without the name of its class" && cat "$outside/said"; exit 1; } >&2
sed 's/my_pool/pool_of_mine/g' "$1/bench/my_pool.hpp" >"$outside/pool_of_mine.hpp"
echo 'inline int narrowed(long value, int unused) { return value; }' >>"$outside/pool_of_mine.hpp" # three warnings
(cd "$1" && cmake --preset bench -B "$2" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=15 >"$outside/said") # a third of the time
LIDO_BENCH_BUILD=$2 "$1/scripts/bench.sh" --no-install --contender "$outside/pool_of_mine.hpp" --contenders floor --threads 1,2 \
  --short --repetitions 1 | tee "$outside/table"
rows=$(grep -cE '^pool_of_mine +[0-9.]+ [0-9.]+x' "$outside/table") || true
[ "$rows" -ge 4 ] || { echo "FAILED: pool_of_mine has $rows rows" >&2 && exit 1; }
