#!/usr/bin/env bash
# Runs the examples that need the address of a server without one: their messages, and how soon they come.
# Usage: connection_arguments.sh REDIS_EXAMPLE POSTGRES_EXAMPLE
set -euo pipefail
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

ends_with() { # status, message, command...
  local status=0 wanted=$1 message=$2
  shift 2
  timeout 10 "$@" >/dev/null 2>"$errors" || status=$?
  [ "$status" -eq "$wanted" ] && grep -qF -- "$message" "$errors" && return
  echo "FAILED: $*: status $status and '$(cat "$errors")' instead of $wanted and '$message'" >&2
  exit 1
}

for arguments in "" "6379" "port secret" "0 secret" "65536 secret" "99999999999 secret" "1 secret more"; do
  # shellcheck disable=SC2086 # several words
  ends_with 2 "usage: redis_connections" "$1" $arguments
done
# No server listens at port 1.
ends_with 1 "refused" "$1" 1 secret
ends_with 1 "refused" "$2" "host=127.0.0.1 port=1"
