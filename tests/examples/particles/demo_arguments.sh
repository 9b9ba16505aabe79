#!/usr/bin/env bash
# The particle demo with arguments it can and cannot use: exit status and messages.
# Usage: demo_arguments.sh PARTICLE_DEMO
set -euo pipefail
export LC_ALL=C
demo=$1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED: $*" >&2
  sed 's/^/    /' "$work/out" "$work/err" >&2
  failures=$((failures + 1))
}

status_of() { # arguments...; leaves output in $work/out and $work/err
  local status=0
  "$demo" --frames 2 --particles 500 --width 64 --height 36 --policy tuned --out "$work/pictures" "$@" \
    >"$work/out" 2>"$work/err" || status=$?
  echo "$status"
}

refuses() { # what, message, arguments...
  local what=$1 message=$2 status
  shift 2
  status=$(status_of "$@")
  [ "$status" -eq 2 ] || fail "$what: status $status instead of 2"
  grep -qF -- "$message" "$work/err" || fail "$what: no '$message' on stderr"
}

accepts() { # what, arguments...
  local what=$1 status
  shift
  status=$(status_of "$@")
  [ "$status" -eq 0 ] || fail "$what: status $status instead of 0"
}

accepts "help" --help
grep -q -- '--policy' "$work/out" || fail "help does not name the options"
accepts "smallest" --frames 1 --particles 100 --width 32 --height 32 --threads 1
accepts "few frames, all policies" --frames 1 --policy all
for policy in refuse evict grow; do
  grep -q "^  $policy: the map was never full" "$work/out" || fail "$policy, which had nothing to do, looks verified"
done
accepts "few frames, large enough" --policy tuned
! grep -q "was never full" "$work/out" || fail "a map that is large enough is to be full"
accepts "largest seed" --seed 18446744073709551615
accepts "more threads than cores" --threads 16

refuses "unknown policy" "--policy" --policy throw
refuses "no frames" "--frames" --frames 0
refuses "negative frames" "--frames" --frames -3
refuses "frames that are no number" "--frames" --frames ten
refuses "too few particles" "--particles" --particles 99
refuses "too much of both" "too many" --frames 100000 --particles 10000000
refuses "narrow" "--width" --width 31
refuses "high" "--height" --height 1081
refuses "no threads" "--threads" --threads 0
refuses "no pictures" "--every" --every 0
refuses "negative seed" "--seed" --seed -1
refuses "unknown option" "--fast" --fast
refuses "stray word" "wall" wall

: >"$work/file"
refuses "a file as folder" "$work/file" --out "$work/file"
refuses "a folder below a file" "$work/file" --out "$work/file/pictures"
refuses "no folder" "--out" --out ""
if [ -c /dev/full ]; then
  mkdir -p "$work/full"
  ln -s /dev/full "$work/full/tuned.webp"
  refuses "a full disk" "tuned.webp" --out "$work/full"
fi

accepts "output to a file" --threads 2
if grep -q "$(printf '[\r\033]')" "$work/out" "$work/err"; then
  fail "control characters in the output"
fi
[ "$failures" -eq 0 ] || exit 1
echo "particle demo arguments: ok"
