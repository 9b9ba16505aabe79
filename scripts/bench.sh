#!/usr/bin/env bash
# Builds and runs the benches beside every peer that is installed and prints one table per workload.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/bench.sh [--short] [--sizes all|64] [--filter REGEX] [--json FOLDER] [--repetitions N] [--cpu] [--markdown]
       scripts/bench.sh --slot-map [--short]
  --short          objects of 64 bytes only, three short repetitions: two minutes and the build
  --sizes all|64   objects of 16, 64, 256 and 4096 bytes (the default without --short), or of 64 only
  --filter REGEX   only benchmarks whose name workload/contender/threads:N matches
  --json FOLDER    keep Google Benchmark's results there
  --repetitions N  default 5, with --short 3
  --cpu            report processor time: for a machine that is not quiet
  --markdown       tables in Markdown
  --slot-map       slot maps beside containers, and dcm_pool's own benchmark, instead of the pools
TEXT
}

build=${LIDO_BENCH_BUILD:-build/bench}
short=0
slot_map=0
sizes=
filter=
json=
repetitions=
report=()
while [ $# -gt 0 ]; do
  case $1 in
    --short) short=1 ;;
    --slot-map) slot_map=1 ;;
    --sizes) sizes=${2:?--sizes needs all or 64} && shift ;;
    --filter) filter=${2:?--filter needs a regular expression} && shift ;;
    --json) json=$(realpath -m "${2:?--json needs a folder}") && shift ;;
    --repetitions) repetitions=${2:?--repetitions needs a number} && shift ;;
    --cpu | --markdown) report+=("$1") ;;
    --help | -h) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done

min_time=0.1
if [ "$short" -eq 1 ]; then
  min_time=0.01
fi
: "${sizes:=$([ "$short" -eq 1 ] && echo 64 || echo all)}"
case $sizes in
  all) all_sizes=ON ;;
  64) all_sizes=OFF ;;
  *) usage >&2 && exit 2 ;;
esac
: "${repetitions:=$((short ? 3 : 5))}"

cd "$(dirname "$0")/.."
: "${json:=$build/results}"
log=$build/bench.log
most_seconds=1200 # for one run; a peer that spins crawls on a machine that is busy with other things

targets=(lido_bench lido_bench_resource lido_bench_rmw lido_bench_latency lido_bench_resources lido_bench_life_cycles
  lido_bench_blocked lido_bench_growth lido_bench_exhausted)
if [ "$slot_map" -eq 1 ]; then
  targets=(lido_bench_slot_map lido_bench_slot_map_frames)
fi
build_all() {
  cmake --preset bench -B "$build" -DLIDO_BUILD_EXAMPLES=OFF -DLIDO_BENCH_ALL_SIZES=$all_sizes &&
    cmake --build "$build" --target "${targets[@]}"
}

scripts/setup.sh
mkdir -p "$build"
echo "bench: building (log in $log)"
if ! build_all >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  exit 1
fi
grep 'bench:.*absent' "$log" || true

if [ "$slot_map" -eq 1 ]; then
  mkdir -p "$json"
  "$build"/bench/lido_bench_slot_map --benchmark_min_time="$min_time" --benchmark_repetitions="$repetitions" \
    --benchmark_enable_random_interleaving=true --benchmark_out="$json/slot_map.json" \
    --benchmark_out_format=json >>"$log" 2>&1
  python3 bench/slot_map_report.py "$json/slot_map.json"
  "$build"/bench/lido_bench_slot_map_frames $([ "$short" -eq 1 ] && echo --short)
  exit
fi

run() { # name, regular expression, and the program if it is not lido_bench
  local start=$SECONDS program=${3:-lido_bench}
  # Interleaved, so that whatever the machine does meanwhile meets all contenders alike.
  timeout --foreground "$most_seconds" "$build/bench/$program" --benchmark_min_time="$min_time" \
    --benchmark_repetitions="$repetitions" --benchmark_enable_random_interleaving=true \
    --benchmark_filter="$2" --benchmark_out="$json/$1.json" --benchmark_out_format=json >>"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    echo "bench: $1 failed, or took more than $most_seconds s" >&2
    return 1
  }
  results+=("$json/$1.json")
  echo "bench: measured $1 in $((SECONDS - start)) s"
}

results=()
mkdir -p "$json"
if [ -n "$filter" ]; then
  run selected "$filter"
else
  # One process a workload, so that there is something to see meanwhile. What is compared with the
  # floor's pair has that in its own process, too.
  for workload in pair burst churn handoff thread_churn near_exhaustion; do
    case $workload in
      handoff | near_exhaustion) run "$workload" "^($workload/|pair/floor/)" ;;
      *) run "$workload" "^$workload/" ;;
    esac
  done
fi
python3 bench/report.py "${results[@]}" "${report[@]}"
if [ -z "$filter" ]; then
  for program in resources life_cycles; do # programs of their own: their contenders are of another kind
    results=()
    run "$program" . "lido_bench_$program"
    echo
    echo "lido_bench_$program"
    python3 bench/report.py "${results[@]}" "${report[@]}"
  done
fi
if [ -z "$filter" ]; then
  for program in growth exhausted; do # tables of their own: there is no floor to compare with
    echo
    echo "lido_bench_$program"
    "$build/bench/lido_bench_$program" --benchmark_min_time="$min_time" --benchmark_repetitions="$repetitions" \
      --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true
  done
fi
echo
"$build"/bench/lido_bench_rmw
echo
if [ "$short" -eq 0 ]; then
  "$build"/bench/lido_bench_latency
  "$build"/bench/lido_bench_blocked
else
  "$build"/bench/lido_bench_blocked 20000 3
fi
echo
if [ "$short" -eq 0 ]; then
  "$build"/bench/lido_bench_resource
else
  "$build"/bench/lido_bench_resource --short
fi
