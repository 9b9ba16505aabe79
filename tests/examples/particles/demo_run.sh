#!/usr/bin/env bash
# The particle demo with one answer to a full map: its counts add up, they fit the answer, and its
# pictures decode.
# Usage: demo_run.sh PARTICLE_DEMO PICTURE_CHECK POLICY
set -euo pipefail
export LC_ALL=C
demo=$1 picture_check=$2 policy=$3

frames=96
particles=5000
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail() {
  echo "FAILED: $policy: $*" >&2
  sed 's/^/    /' "$out/text" >&2
  exit 1
}

status=0
"$demo" --policy "$policy" --frames $frames --particles $particles --width 128 --height 72 \
  --every 48 --seed 3 --threads 4 --out "$out/pictures" >"$out/text" 2>&1 || status=$?
[ $status -eq 0 ] || fail "status $status"

# The row is: policy, words for it, born refused died evicted alive most capacity, times.
read -r asked peak < <(sed -n 's/^  \([0-9]*\) particles are asked for.* room for all, \([0-9]*\) .*/\1 \2/p' "$out/text")
read -r born refused died evicted alive most capacity _ < <(grep "^  $policy " "$out/text" | grep -oE '[0-9.]+' | xargs)
[ "$asked" -eq $((born + refused)) ] || fail "$asked asked for is not $born born + $refused refused"
[ "$born" -eq $((alive + died + evicted)) ] || fail "$born born is not $alive + $died + $evicted"
[ "$died" -gt 0 ] || fail "no particle died"

! grep -q "was never full" "$out/text" || fail "never full"

case $policy in
  tuned) [ "$refused $evicted $most $capacity" = "0 0 $peak $peak" ] || fail "not tuned" ;;
  refuse) [ "$refused" -gt 0 ] && [ "$evicted $most $capacity" = "0 $particles $particles" ] || fail "not refused" ;;
  evict) [ "$evicted" -gt 0 ] && [ "$refused $most $capacity" = "0 $particles $particles" ] || fail "not evicted" ;;
  grow)
    [ "$refused $evicted $most" = "0 0 $peak" ] || fail "not grown"
    least=${capacity%%..*} largest=${capacity##*..}
    [ "$least" -lt "$largest" ] && [ "$largest" -ge "$peak" ] || fail "capacity $capacity"
    ;;
esac

"$picture_check" "$out/pictures/$policy.webp" 128 72 $frames || fail "the animation"
"$picture_check" "$out/pictures/$policy-0048.png" 128 72 1 || fail "the picture"
[ "$(find "$out/pictures" -name '*.png' | wc -l)" -eq 2 ] || fail "not two pictures"
echo "particle demo, $policy: ok"
