#!/usr/bin/env bash
# Shows what Lido does: a pool shared by 8 threads, and a job engine over the files below PATH. Then a fountain of
# particles, a gateway that borrows connections, and a bench of five rows.
# Usage: scripts/demo.sh [--full] [--no-install] [PATH]    default /usr/include
#   --full        more rounds, all tables, and scripts/bench.sh --short instead of the five rows: half an hour
#   --no-install  names the packages that are missing and installs none
set -euo pipefail

refuse() {
  echo "demo: $1" >&2
  exit 2
}

# The program checks again; here a mistake is known before anything is installed or built.
check_path() {
  [ -n "$1" ] || refuse "the path is empty"
  [ -e "$1" ] || refuse "$1 does not exist"
  [ -d "$1" ] || refuse "$1 is not a folder"
  { [ -r "$1" ] && [ -x "$1" ]; } || refuse "$1 cannot be read: permission denied"
  # The real path, so that a link to a folder is followed and no name looks like an option.
  [ -n "$(find "$(realpath -- "$1")/" -type f -size +0 -print -quit 2>/dev/null)" ] || refuse "$1 holds no text to read"
}

full=no
setup=(scripts/setup.sh)
while [ $# -gt 0 ]; do
  case $1 in
    --full) full=yes ;;
    --no-install) setup+=(--no-install) ;;
    -h | --help)
      sed -n '2,6s/^# //p' "$0"
      exit 0
      ;;
    -*) refuse "usage: scripts/demo.sh [--full] [--no-install] [PATH]" ;;
    *) break ;;
  esac
  shift
done
[ $# -le 1 ] || refuse "usage: scripts/demo.sh [--full] [--no-install] [PATH]"
path=/usr/include # of a fresh machine it is empty before the compiler is there
if [ $# -eq 1 ]; then
  check_path "$1"
  path=$(realpath -- "$1")
fi
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

build=build/demo
log=$build/demo.log
mkdir -p $build
: >$log
stage() { printf '== %s s: %s\n' $SECONDS "$1" >>$log; }

quietly() { # what, command...; its output goes to the log
  local what=$1
  shift
  stage "$what"
  "$@" >>$log 2>&1 || {
    tail -n 30 $log >&2
    echo "demo: $what failed (log in $log)" >&2
    exit 1
  }
}

configure() { # whether the packages of the demos and the bench are there
  local package off=OFF options=()
  [ "$1" = yes ] || off=ON
  for package in TBB Boost fmt CLI11; do
    options+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=$off")
  done
  [ "$1" = yes ] && options+=(-DLIDO_BUILD_BENCH=ON)
  # Several sources as one translation unit take a third of the time to compile.
  quietly "configure" cmake -S . -B $build -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=Release \
    "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=15 \
    -DLIDO_BUILD_TESTS=OFF -DLIDO_INSTALL=OFF -DLIDO_WITH_STANDALONE_ASIO=OFF -DLIDO_WITH_HIREDIS=OFF \
    -DLIDO_WITH_LIBPQ=OFF "${options[@]}"
}
build() { quietly "build $*" cmake --build $build --target "$@"; }
show() { # program, arguments
  local program=$1
  shift
  stage "run $program"
  echo
  "$build/$program" "$@"
}

echo "demo: a shared pool, a job engine, a fountain, a gateway, a bench: 40 s, the first time 3 min (log in $log)"
first=lido_example_shared_by_threads
installing=
if "${setup[0]}" --no-install demo >/dev/null 2>&1; then
  "${setup[@]}" demo
  configure yes
else
  "${setup[@]}" compiler
  # The library and the first program need no more, and compile while the other packages are installed.
  "${setup[@]}" demo &
  installing=$!
  configure no
fi
build $first
show examples/$first
if [ -n "$installing" ]; then
  stage "wait for packages"
  wait "$installing"
  configure yes
fi

targets=(lido_engine_demo lido_gateway_demo)
fountain=no
if grep -q lido_particle_demo $build/build.ninja; then
  fountain=yes
  targets+=(lido_particle_demo)
fi
[ $full = yes ] || targets+=(lido_bench_brief)
build "${targets[@]}"

runs=() frames=() rounds=()
if [ $full = no ]; then
  runs=(--repeat 3)
  frames=(--particles 50000 --frames 80 --width 480 --height 270)
  rounds=(--brief --rounds 3)
fi
show examples/lido_engine_demo "$path" "${runs[@]}"
if [ $fountain = yes ]; then
  show examples/particles/lido_particle_demo --out $build/fountain "${frames[@]}"
else
  echo "demo: no fountain of particles, libpng or libwebp is missing (libpng-dev, libwebp-dev)" >&2
fi
show examples/gateway/lido_gateway_demo "${rounds[@]}"
if [ $full = yes ]; then
  exec scripts/bench.sh "${setup[@]:1}" --short
fi

stage "bench"
echo
$build/bench/lido_bench_brief --threads=8 --benchmark_min_time=0.1 --benchmark_repetitions=5 \
  --benchmark_enable_random_interleaving=true --benchmark_display_aggregates_only=true --benchmark_format=csv \
  --benchmark_context=commit="$(git describe --always --dirty 2>/dev/null || echo unknown)" \
  --benchmark_out=$build/brief.json --benchmark_out_format=json 2>/dev/null |
  tee -a $log | awk -f bench/object/brief.awk
if command -v python3 >/dev/null; then
  page=$(python3 -B bench/report/page.py $build/brief.json $build/report)
  echo "  as a page: $PWD/$page"
fi
stage "done"
cat <<TEXT

Took $SECONDS s. Next: README.md, docs/index.md, examples/first_pool.cpp. All workloads as such a page:
  scripts/bench.sh --report DIR --quick    the best-known peers: three minutes and the build
  scripts/bench.sh --report DIR            all peers, more threads: a quarter of an hour
TEXT
