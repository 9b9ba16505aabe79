#!/usr/bin/env bash
# The engine demo on folders it can and cannot use: exit status, messages, and totals that must
# equal those of wc and grep.
# Usage: demo_arguments.sh ENGINE_DEMO DEMO_SCRIPT
set -euo pipefail
export LC_ALL=C

work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
chmod 755 "$work"
cp "$1" "$work/engine" # another user can run it there, too
engine=$work/engine
# Outside the tree: if it ever misses a bad path, it finds nothing there to install or build.
mkdir "$work/scripts"
cp "$2" "$work/scripts/demo.sh"
demo_script=$work/scripts/demo.sh
failures=0

fail() {
  echo "FAILED: $*" >&2
  sed 's/^/    /' "$work/out" "$work/err" >&2
  failures=$((failures + 1))
}

status_of() { # command...; leaves its output in $work/out and $work/err
  local status=0
  "$@" >"$work/out" 2>"$work/err" || status=$?
  echo "$status"
}

refuses() { # what, message, command...
  local what=$1 message=$2 status
  shift 2
  status=$(status_of "$@")
  [ "$status" -eq 2 ] || fail "$what: status $status instead of 2"
  grep -qF -- "$message" "$work/err" || fail "$what: no '$message' on stderr"
}

accepts() { # what, command...
  local what=$1 status
  shift
  status=$(status_of "$@")
  [ "$status" -eq 0 ] || fail "$what: status $status instead of 0"
}

prints() { # what, text
  grep -qF -- "$2" "$work/out" || fail "$1: no '$2' on stdout"
}

make_tree() { # folder
  mkdir -p "$1/deeper/still"
  printf 'int main() { return 0x1F + answer_2; }\n// two lines\n' >"$1/main.cpp"
  printf '' >"$1/empty.txt"
  printf 'no newline at the end 42' >"$1/deeper/notes"
  printf '%0500d\n%s\n' 7 "$(printf 'long_%.0s' {1..200})" >"$1/deeper/still/long.txt"
  printf 'one\n\n\ntwo 3 four5 6six\n' >"$1/deeper/still/odd name.txt"
  printf 'linked twice\n' >"$1/../outside.txt"
  ln -s ../outside.txt "$1/link.txt"
  ln -s . "$1/loop"
}

words() { # folder, pattern of the first letter
  grep -rhoE '[A-Za-z0-9_]+' "$1" --exclude=link.txt | grep -cE "^$2"
}

tiny_tree() {
  make_tree "$work/tree"
  local lines identifiers numbers chunk
  lines=$(find "$work/tree" -type f -exec cat {} + | wc -l)
  identifiers=$(words "$work/tree" '[A-Za-z_]')
  numbers=$(words "$work/tree" '[0-9]')
  for chunk in 1 2 7 64 16384; do
    accepts "tiny tree, chunks of $chunk" "$engine" "$work/tree" --chunk "$chunk" --jobs 3 --repeat 2
    local row
    read -r -a row < <(grep '^  all files' "$work/out")
    [ "${row[2]} ${row[4]} ${row[5]} ${row[6]}" = "5 $lines $identifiers $numbers" ] ||
      fail "chunks of $chunk: not 5 files, $lines lines, $identifiers identifiers, $numbers numbers"
    prints "chunks of $chunk" "Verified: all 6 runs"
  done
  accepts "more workers than jobs" "$engine" "$work/tree" --workers 16 --jobs 1 --chunk 5 --repeat 1
  accepts "one worker" "$engine" "$work/tree" --workers 1 --jobs 2 --drain 1 --chunk 5 --repeat 1
}

no_broken_line() {
  accepts "output to a file" "$engine" "$work/tree" --repeat 1
  if grep -q "$(printf '[\r\033]')" "$work/out" "$work/err"; then
    fail "control characters in output that goes to no terminal"
  fi
  if command -v script >/dev/null; then
    accepts "on a terminal" env TERM=xterm NO_COLOR=1 script -qec "'$engine' '$work/tree' --repeat 1" /dev/null
    if grep -q "$(printf '\033\\[[0-9;]*m')" "$work/out"; then
      fail "colours in spite of NO_COLOR"
    fi
    # The rest of a line after its last erasure may only be a line of the report.
    if sed "s/.*$(printf '\033')\\[K//" "$work/out" | grep -q '[#.]\{5\}.* %'; then
      fail "a progress bar that was not erased"
    fi
  fi
}

unusable_paths() {
  mkdir -p "$work/bare/folder" "$work/hollow"
  : >"$work/hollow/empty.txt"
  printf 'text\n' >"$work/file"
  local program
  for program in "$engine" "$demo_script"; do
    refuses "missing path" "does not exist" "$program" "$work/nowhere"
    refuses "file as path" "is not a folder" "$program" "$work/file"
    refuses "empty path" "the path is empty" "$program" ""
    refuses "empty folder" "holds no text" "$program" "$work/bare"
    refuses "only empty files" "holds no text" "$program" "$work/hollow"
  done
  refuses "no path" "PATH is required" "$engine"
  refuses "no workers" "--workers" "$engine" "$work/tree" --workers 0
  refuses "no jobs" "--jobs" "$engine" "$work/tree" --jobs 0
  refuses "no bytes" "--chunk" "$engine" "$work/tree" --chunk 0
  refuses "two paths" "usage" "$demo_script" --no-install "$work/tree" "$work/tree"
}

# Root may read everything, so run as another user if we are root.
unreadable_files() {
  local as=()
  if [ "$(id -u)" -eq 0 ]; then
    as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    if ! "${as[@]}" "$engine" --help >/dev/null 2>&1; then
      echo "not tested: unreadable files (cannot run the demo as another user)" >&2
      return
    fi
  fi
  mkdir -p "$work/guarded/shut" "$work/locked"
  printf 'seen\n' >"$work/guarded/open.txt"
  printf 'unseen\n' >"$work/guarded/closed.txt"
  printf 'unseen\n' >"$work/guarded/shut/inside.txt"
  printf 'unseen\n' >"$work/locked/closed.txt"
  chmod 000 "$work/guarded/closed.txt" "$work/guarded/shut" "$work/locked/closed.txt"
  accepts "unreadable file inside" "${as[@]}" "$engine" "$work/guarded" --repeat 1
  prints "unreadable file inside" "skipped because they cannot be read: 1 files, 1 folders"
  refuses "nothing readable inside" "holds no text" "${as[@]}" "$engine" "$work/locked"
  chmod 000 "$work/guarded"
  refuses "unreadable path" "cannot be read" "${as[@]}" "$engine" "$work/guarded"
  refuses "unreadable path, script" "cannot be read" "${as[@]}" bash "$demo_script" "$work/guarded"
}

tiny_tree
no_broken_line
unusable_paths
unreadable_files
[ "$failures" -eq 0 ] || exit 1
echo "demo arguments: ok"
