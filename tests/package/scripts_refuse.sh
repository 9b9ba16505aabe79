#!/usr/bin/env bash
# Tests what scripts/setup.sh, demo.sh and bench.sh refuse, and their messages when a tool, apt-get or root is missing. They
# run on copies, so that nothing is built, and with an apt-get that installs nothing.
# Usage: scripts_refuse.sh SOURCE_FOLDER
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/scripts" "$work/bench" "$work/text"
cp "$1"/scripts/{setup,demo,bench}.sh "$work/scripts/"
cp "$1/bench/CMakeLists.txt" "$work/bench/"
echo text >"$work/text/file"
ln -s /usr/bin/* /bin/* "$work/bin/" 2>/dev/null || true
export PATH=$work/bin
failures=0

hide() { rm -f "${@/#/$work/bin/}"; } # commands
stub() { # name, text
  hide "$1"
  printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
  chmod 755 "$work/bin/$1"
}

says() { # status, text on stderr, script, arguments...
  local status=0 wanted=$1 text=$2
  shift 2
  bash "$work/scripts/$1" "${@:2}" >"$work/out" 2>"$work/err" </dev/null || status=$?
  if [ "$status" -ne "$wanted" ] || ! grep -qF -- "$text" "$work/err"; then
    echo "FAILED: $*: status $status instead of $wanted, or no '$text':" >&2
    sed 's/^/    /' "$work/out" "$work/err" >&2
    failures=$((failures + 1))
  fi
}

says 2 "usage: scripts/demo.sh" demo.sh --fast
says 2 "usage: scripts/demo.sh" demo.sh "$work/text" "$work/text"
says 2 "/nowhere does not exist" demo.sh --no-install /nowhere
says 2 "Usage: scripts/setup.sh" setup.sh everything
status=0
(cd "$work/scripts" && ./setup.sh --no-install --nonsense) >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 2 ] && grep -q "Usage: scripts/setup.sh" "$work/err" ||
  { echo "FAILED: in its folder, setup.sh --nonsense: status $status, $(cat "$work/err")" >&2 && exit 1; }
says 2 "usage: scripts/bench.sh" bench.sh --fast
says 2 "no contender nobody; known are floor ring_alone lido " bench.sh --contenders lido,nobody
says 2 "--threads 1,two: not numbers" bench.sh --threads 1,two
says 2 "--threads 0: not numbers" bench.sh --threads 0
says 2 "nothing matches --filter ^nothing/" bench.sh --filter '^nothing/'
says 2 "nothing matches --filter ^pair/malloc/" bench.sh --filter '^pair/malloc/' --contenders lido
says 2 "--filter (: not a regular expression" bench.sh --filter '('
says 2 "--repetitions few: not a number" bench.sh --repetitions few
says 2 "--quick goes with --report" bench.sh --quick
says 2 "--report shows all workloads: no --filter" bench.sh --report "$work/report" --filter '^pair/'
says 2 "--contender $work/nowhere.hpp does not exist" bench.sh --contender "$work/nowhere.hpp"

stub apt-get "echo called >>'$work/apt'; exit 1"
hide cmake
for script in "setup.sh compiler" demo.sh bench.sh; do
  # shellcheck disable=SC2086 # two words
  says 1 "missing: cmake" $script --no-install
done
[ ! -e "$work/apt" ] || { echo "FAILED: --no-install calls apt-get" >&2 && exit 1; }
says 1 "could not install cmake" setup.sh compiler
[ -e "$work/apt" ] || { echo "FAILED: without --no-install nobody calls apt-get" >&2 && exit 1; }

says 1 "setup: named: missing: g++-99 clang-99" setup.sh --no-install g++-99 clang-99
says 1 "could not install clang-99" setup.sh clang-99

hide ninja pkg-config
stub id "echo 1000" # no root, and no sudo
hide sudo
says 1 "setup: compiler: missing: cmake ninja-build" setup.sh compiler
stub id "echo 0"
hide apt-get
says 1 "setup: compiler: missing: cmake ninja-build" setup.sh compiler
says 1 "left out: pkg-config" setup.sh bench

stub cmake "exit 0"
stub ninja "exit 0"
stub g++ "exit 0"
bash "$work/scripts/setup.sh" compiler >"$work/out" 2>&1
[ ! -s "$work/out" ] || { echo "FAILED: it speaks although nothing is missing" >&2 && exit 1; }
[ "$failures" -eq 0 ] || exit 1
echo "scripts refuse: ok"
