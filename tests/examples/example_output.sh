#!/usr/bin/env bash
# Checks that an example ends well and prints exactly what the comment at the end of its source says.
# Usage: example_output.sh PROGRAM SOURCE [ARGUMENT...]    arguments go to the program
# In the environment, EMULATOR is the command that runs programs of another system.
set -euo pipefail
program=$1
source=$2
shift 2

wanted=$(sed -n '/^\/\/ Prints:$/,$ { /^\/\/ Prints:$/d; s|^//   ||p }' "$source")
[ -n "$wanted" ] || { echo "$source does not say what it prints" >&2; exit 1; }

# shellcheck disable=SC2086  # a command with its arguments
printed=$(set -o pipefail; ${EMULATOR:-} "$program" "$@" | tr -d '\r') || { echo "$program failed with status $?" >&2; exit 1; }
diff <(printf '%s\n' "$wanted") <(printf '%s\n' "$printed") || { echo "< $source says, > it prints" >&2; exit 1; }

case $source in
  # For examples of tutorials, or with coroutines, only lines of code count.
  */server_* | */job_pool.cpp | */*_asio.cpp) [ "$(grep -cvE '^ *(//|$)' "$source")" -le 120 ] ;;
  *) [ "$(wc -l <"$source")" -lt 60 ] ;;
esac || { echo "$source is too long for an example" >&2; exit 1; }
