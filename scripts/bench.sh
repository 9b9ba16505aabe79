#!/usr/bin/env bash
# Builds and runs the benches beside every peer that is installed and prints one table per workload.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/bench.sh [--short] [--filter REGEX] [--json FILE] [--repetitions N] [--cpu] [--markdown]
  --short          objects of 64 bytes only, three short repetitions: about a minute
  --filter REGEX   only benchmarks whose name workload/contender/threads:N matches
  --json FILE      keep Google Benchmark's results there
  --repetitions N  default 5, with --short 3
  --cpu            report processor time: for a machine that is not quiet
  --markdown       tables in Markdown
TEXT
}

build=${LIDO_BENCH_BUILD:-build/bench}
short=0
filter=
json=
repetitions=
report=()
while [ $# -gt 0 ]; do
  case $1 in
    --short) short=1 ;;
    --filter) filter=${2:?--filter needs a regular expression} && shift ;;
    --json) json=$(realpath -m "${2:?--json needs a file}") && shift ;;
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
  # Only the usual size has nothing after the number of threads.
  filter="${filter:+($filter).*}threads:[0-9]+/manual_time\$"
fi
: "${repetitions:=$((short ? 3 : 5))}"

cd "$(dirname "$0")/.."
: "${json:=$build/lido_bench.json}"
log=$build/bench.log

build_all() {
  cmake --preset bench -B "$build" -DLIDO_BUILD_EXAMPLES=OFF &&
    cmake --build "$build" --target lido_bench lido_bench_rmw lido_bench_latency
}

scripts/setup.sh
mkdir -p "$build"
echo "bench: building (log in $log)"
if ! build_all >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  exit 1
fi
grep 'bench:.*absent' "$log" || true

echo "bench: running"
# Interleaved, so that whatever the machine does meanwhile meets all contenders alike.
"$build"/bench/lido_bench --benchmark_min_time="$min_time" --benchmark_repetitions="$repetitions" \
  --benchmark_enable_random_interleaving=true --benchmark_filter="${filter:-.}" \
  --benchmark_out="$json" --benchmark_out_format=json >>"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  exit 1
}
python3 bench/report.py "$json" "${report[@]}"
echo
"$build"/bench/lido_bench_rmw
if [ "$short" -eq 0 ]; then
  echo
  "$build"/bench/lido_bench_latency
fi
