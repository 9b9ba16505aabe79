#!/usr/bin/env bash
# Builds and runs the benches beside every peer that is installed and prints one table per workload.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/bench.sh [options]
       scripts/bench.sh compare OLD.json [COMMIT]    builds both commits, measures them by turns, marks what became slower
       scripts/bench.sh compare OLD.json NEW.json    two runs as they are, which were not interleaved; compare --help says more
  --report FOLDER    measures everything in a quarter of an hour and writes FOLDER/index.html, which works offline, and the raw data
  --quick            with --report: the best-known peers alone, in three minutes and the build
  --contender FILE   adds a pool of your own, a header anywhere: bench/my_pool.hpp shows how
  --short            objects of 64 bytes only, three short repetitions: two minutes and the build
  --sizes all|64     objects of 16, 64, 256, 1024 and 4096 bytes (the default without --short), or of 64 only
  --filter REGEX     builds and runs only what matches: workload/contender/threads:N, or the name of another program
  --contenders A,B   builds and runs only these contenders, and only lido_bench
  --threads 1,2,4    on so many threads instead of 1, 2, 8, the cores and twice the cores; programs whose numbers are fixed do not run
  --pin              pins threads to processors, thread by thread and again from the first; lido_bench, memory_resources and life_cycles alone
  --json FOLDER      keeps Google Benchmark's results there instead of in build/bench/results
  --repetitions N    default 5, with --short and --report 3
  --cpu              reports processor time: for a machine that is not quiet
  --markdown         tables in Markdown
  --slot-map         slot maps beside containers, and dcm_pool's own benchmark, instead of the pools
  --publish          measures Lido beside its best-known peers; writes README's chart and the table of docs/explanation/benchmarks.md
  --no-install       names the packages that are missing and installs none
The folder of the build is build/bench, or $LIDO_BENCH_BUILD.
TEXT
}

refuse() {
  echo "bench: $1" >&2
  exit 2
}

cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
if [ "${1:-}" = compare ]; then
  exec python3 -B bench/report/compare.py "${@:2}"
fi
build=${LIDO_BENCH_BUILD:-build/bench}
page=
quick=0
own=
short=0
slot_map=0
sizes=
filter=
contenders=
threads=
pin=()
json=
repetitions=
publish=0
report=()
setup=(scripts/setup.sh bench)
while [ $# -gt 0 ]; do
  case $1 in
    --report) page=${2:?--report needs a folder} && shift ;;
    --quick) quick=1 ;;
    --contender) own=$(realpath -e -- "${2:?--contender needs a header}" 2>/dev/null) || refuse "--contender $2 does not exist"; shift ;;
    --short) short=1 ;;
    --slot-map) slot_map=1 ;;
    --sizes) sizes=${2:?--sizes needs all or 64} && shift ;;
    --filter) filter=${2:?--filter needs a regular expression} && shift ;;
    --contenders) contenders=${2:?--contenders needs names, separated by commas} && shift ;;
    --threads) threads=${2:?--threads needs numbers, separated by commas} && shift ;;
    --pin) pin=(--pin) ;;
    --json) json=${2:?--json needs a folder} && shift ;;
    --repetitions) repetitions=${2:?--repetitions needs a number} && shift ;;
    --publish) publish=1 ;;
    --no-install) setup+=("$1") ;;
    --cpu | --markdown) report+=("$1") ;;
    --help | -h) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done

min_time=$([ -n "$page" ] && echo 0.02 || echo 0.1)
if [ $quick -eq 1 ]; then
  short=1
fi
if [ "$short" -eq 1 ]; then
  min_time=0.01
fi
: "${sizes:=$([ "$short" -eq 1 ] || [ -n "$page" ] || [ $publish -eq 1 ] && echo 64 || echo all)}"
case $sizes in
  all) all_sizes=ON ;;
  64) all_sizes=OFF ;;
  *) usage >&2 && exit 2 ;;
esac
: "${repetitions:=$([ "$short" -eq 1 ] || [ -n "$page" ] && echo 3 || echo 5)}"
[[ $repetitions =~ ^[1-9][0-9]*$ ]] || refuse "--repetitions $repetitions: not a number"
[[ $threads =~ ^([1-9][0-9]{0,3}(,[1-9][0-9]{0,3})*)?$ ]] || refuse "--threads $threads: not numbers between 1 and 9999, separated by commas"

# Whatever is asked for is known before anything is installed or built.
mapfile -t known < <(sed -nE 's/^bench_contender\((\w+).*/\1/p' bench/CMakeLists.txt)
selected=("${known[@]}")
if [ -n "$own" ]; then
  own_name=$(basename -- "${own%.*}")
  [[ $own_name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] ||
    refuse "--contender $own: the class has the name of its file, and $own_name is no C++ identifier; rename both"
  # all: of a file that the build generates
  [[ " ${known[*]} all " != *" $own_name "* && ! -e bench/contenders/$own_name.hpp ]] ||
    refuse "--contender $own: the bench has a $own_name already; rename the file and its class"
  # Without comments. A class from elsewhere may be given the name by `using`.
  code=$(sed -E 's://.*$::' -- "$own")
  grep -qE "(struct|class|using)[[:space:]]([^;{}()]*[[:space:]])?$own_name([^[:alnum:]_]|$)" <<<"$code" || {
    others=$(grep -oE '^(template[^{}()]*>[[:space:]]*)?(struct|class)[[:space:]]+[A-Za-z_][A-Za-z0-9_]*' <<<"$code" | grep -oE '[A-Za-z0-9_]+$' | sort -u | paste -sd ' ') || true
    refuse "--contender $own: the class has the name of its file, and the header has no $own_name${others:+ but $others}; rename one of them"
  }
fi
programs=(lido_bench memory_resources life_cycles neighbours growth exhausted bulk locked_caches footprint blocks statistics resource_costs rmw waiting
  resource keyed)
peers=brpc_model,dpdk,tcmalloc,jemalloc,mimalloc,malloc,boost_lockfree_stack,mutex_vector # the best known
[ $quick -eq 0 ] || [ -n "$page" ] || refuse "--quick goes with --report"
[ -z "$page" ] || [ -z "$filter" ] || refuse "--report shows all workloads: no --filter"
if [ $quick -eq 1 ]; then
  : "${contenders:=floor,ring_alone,lido,$peers}"
fi
if [ $publish -eq 1 ]; then
  contenders=floor,ring_alone,lido,$peers,moodycamel_tokens
  : "${threads:=1,2,8}"
  filter='^(pair|burst|churn|handoff|near_exhaustion|moving)/'
fi
if [ -n "$contenders" ]; then
  IFS=, read -r -a selected <<<"$contenders"
  for name in "${selected[@]}"; do
    [[ " ${known[*]} " == *" $name "* ]] || refuse "no contender $name; known are ${known[*]}"
  done
  programs=(lido_bench)
elif [ -n "$threads" ]; then
  programs=(lido_bench memory_resources life_cycles)
fi
[ -z "$page" ] || programs=(lido_bench rmw footprint statistics resource keyed slot_map)
if [ -n "$filter" ]; then
  matches() { # names...
    local status=0
    printf '%s\n' "$@" | grep -qE -- "$filter" 2>/dev/null || status=$?
    [ $status -le 1 ] || refuse "--filter $filter: not a regular expression"
    return $status
  }
  names_of() { # contender
    local workload count
    for workload in pair burst churn thread_churn handoff near_exhaustion moving; do
      for count in $(tr , ' ' <<<"${threads:-1,2,8,$(nproc),$((2 * $(nproc)))}"); do
        printf '%s\n' "$workload/$1/threads:$count" "$workload/$1/threads:$count/bytes:"{16,256,1024,4096}
      done
    done
  }
  candidates=("${selected[@]}")
  selected=()
  for name in "${candidates[@]}"; do
    mapfile -t names < <(names_of "$name")
    ! matches "${names[@]}" || selected+=("$name")
  done
  candidates=("${programs[@]:1}")
  programs=()
  [ ${#selected[@]} -eq 0 ] || programs=(lido_bench)
  for name in "${candidates[@]}"; do
    ! matches "$name" || programs+=("$name")
  done
  [ ${#programs[@]} -gt 0 ] || refuse "nothing matches --filter $filter: neither workload/contender/threads:N nor a program"
fi
has() { [[ " ${programs[*]} " == *" $1 "* ]]; }

: "${json:=$build/results}"
log=$build/bench.log
most_seconds=1200 # for one run; a peer that spins crawls on a machine that is busy with other things

targets=("${programs[@]/#/lido_bench_}")
targets=("${targets[@]/lido_bench_lido_bench/lido_bench}")
if [ "$slot_map" -eq 1 ]; then
  targets=(lido_bench_slot_map lido_bench_slot_map_frames)
fi
some=
[ ${#selected[@]} -eq ${#known[@]} ] || some=$(IFS=';' && echo "${selected[*]}")
build_all() {
  cmake --preset bench -B "$build" -DLIDO_BUILD_EXAMPLES=OFF "-DLIDO_BENCH_ALL_SIZES=$all_sizes" \
    "-DLIDO_BENCH_CONTENDERS=$some" "-DLIDO_BENCH_OWN_CONTENDER=$own" && cmake --build "$build" --target "${targets[@]}"
}

progress() { # what ninja says, in one line of a terminal
  local line
  while read -r line; do
    [[ ! -t 1 || ! $line =~ ^\[[0-9]+/[0-9]+\] ]] || printf '\rbench: building %s ' "${BASH_REMATCH[0]}"
  done
  [ ! -t 1 ] || echo
}

"${setup[@]}"
mkdir -p "$build" "$json"
json=$(realpath -- "$json")
echo "bench: building (log in $log)"
if ! build_all 2>&1 | tee "$log" | progress; then
  tail -n 40 "$log" >&2
  exit 1
fi
grep 'bench:.*absent' "$log" || true

if [ "$slot_map" -eq 1 ]; then
  "$build"/bench/lido_bench_slot_map --benchmark_min_time="$min_time" --benchmark_repetitions="$repetitions" \
    --benchmark_enable_random_interleaving=true --benchmark_out="$json/slot_map.json" \
    --benchmark_out_format=json >>"$log" 2>&1
  python3 bench/slot_map/report.py "$json/slot_map.json"
  "$build"/bench/lido_bench_slot_map_frames $([ "$short" -eq 1 ] && echo --short)
  exit
fi

# So that results of two commits can be told apart.
commit=$(git describe --always --dirty 2>/dev/null || echo unknown)

if [ -n "$page" ]; then
  mkdir -p "$page"
  shown=${some//;/,}
  python3 -B bench/report/measure.py "$build" "$page/results.json" --commit "$commit" --repetitions "$repetitions" \
    --threads "$threads" --min-time "$min_time" --contenders "$shown" --own "${own_name-}" "${pin[@]}"
  index=$(python3 -B bench/report/page.py "$page/results.json" "$page")
  echo "bench: the report is $(realpath -- "$index")"
  exit
fi

run() { # name, regular expression, and the program if it is not lido_bench
  local start=$SECONDS program=${3:-lido_bench}
  # Interleaved, so that whatever the machine does meanwhile meets all contenders alike.
  timeout --foreground "$most_seconds" "$build/bench/$program" ${threads:+"--threads=$threads"} "${pin[@]}" \
    --benchmark_min_time="$min_time" --benchmark_repetitions="$repetitions" \
    --benchmark_enable_random_interleaving=true --benchmark_filter="$2" --benchmark_context=commit="$commit" \
    --benchmark_out="$json/$1.json" --benchmark_out_format=json >>"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    echo "bench: $1 failed, or took more than $most_seconds s" >&2
    return 1
  }
  results+=("$json/$1.json")
  echo "bench: measured $1 in $((SECONDS - start)) s"
}

if [ $publish -eq 1 ]; then
  [ -e build/echarts/node_modules ] || refuse "--publish draws a chart, which needs node and npm"
  results=()
  run published "$filter"
  python3 -B bench/report/publish.py "$json/published.json"
  exit
fi

if has lido_bench; then
  results=()
  if [ -n "$filter$contenders" ]; then
    run selected "${filter:--^(latency|locked|memory)/}"
  else
    # One process a workload, so that there is something to see meanwhile. What is compared with the
    # floor's pair has that in its own process, too.
    for workload in pair burst churn handoff thread_churn near_exhaustion moving; do
      case $workload in
        handoff | near_exhaustion | moving) run "$workload" "^($workload/|pair/floor/)" ;;
        *) run "$workload" "^$workload/" ;;
      esac
    done
  fi
  python3 bench/report/tables.py "${results[@]}" "${report[@]}"
fi
for program in memory_resources life_cycles; do # programs of their own: their contenders are of another kind
  has $program || continue
  results=()
  run "$program" . "lido_bench_$program"
  echo
  echo "lido_bench_$program"
  python3 bench/report/tables.py "${results[@]}" "${report[@]}"
done
for program in neighbours growth exhausted bulk locked_caches footprint blocks statistics resource_costs; do # tables of their own: there is no floor to compare with
  has $program || continue
  echo
  echo "lido_bench_$program"
  "$build/bench/lido_bench_$program" --benchmark_min_time="$min_time" --benchmark_repetitions="$repetitions" \
    --benchmark_enable_random_interleaving=true --benchmark_report_aggregates_only=true
done
for program in rmw waiting resource keyed; do
  has $program || continue
  arguments=()
  if [ "$short" -eq 1 ]; then
    case $program in
      waiting) arguments=(20000 3) ;;
      resource | keyed) arguments=(--short) ;;
    esac
  fi
  echo
  "$build/bench/lido_bench_$program" "${arguments[@]}"
done
