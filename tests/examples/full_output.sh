#!/usr/bin/env bash
# Checks that a program without space for its output fails, and gives the reason.
# Usage: full_output.sh PROGRAM [ARGUMENT...]
set -euo pipefail
[ -c /dev/full ] || { echo "not tested: there is no /dev/full" >&2; exit 0; }

errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
if "$@" >/dev/full 2>"$errors"; then
  echo "$1 succeeds with nowhere to print to" >&2
  exit 1
fi
[ -s "$errors" ] || { echo "$1 does not say why it fails" >&2; exit 1; }
