#!/usr/bin/env bash
# A program whose output had no room does not end as if all were well, and says why.
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
