#!/usr/bin/env bash
# However scripts/setup.sh ends, it leaves no policy behind that prevents services from starting; a user's policy remains.
# Runs on a copy with another path for it, with an apt-get that installs nothing.
# Usage: setup_interrupted.sh SETUP_SCRIPT
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
policy=$work/policy-rc.d
mkdir "$work/bin" "$work/scripts"
setup=$work/scripts/setup.sh
sed "s|/usr/sbin/policy-rc.d|$policy|" "$1" >"$setup"
# Every command except the server that is to be installed.
ln -s /usr/bin/* /bin/* "$work/bin/" 2>/dev/null || true
rm -f "$work/bin/redis-server"
export PATH=$work/bin WORK=$work

stub() { # name; its text on standard input
  rm -f "$work/bin/$1"
  { echo '#!/bin/sh'; cat; } >"$work/bin/$1"
  chmod 755 "$work/bin/$1"
}
stub sudo <<<'exec "$@"'
stub systemctl <<<'exit 0'
stub npm <<<'exit 0' # the real one takes seconds
stub apt-get <<'TEXT'
case "$*" in *redis-server*) ;; *) exit 0 ;; esac
touch "$WORK/reached"
[ ! -e "$WORK/slow" ] || sleep 1
TEXT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

interrupt() { # arguments: signal, expected status
  local status=0 child
  rm -f "$work/reached"
  touch "$work/slow"
  env --default-signal=INT bash "$setup" >/dev/null &
  child=$!
  for _ in {1..500}; do
    [ ! -e "$work/reached" ] || break
    sleep 0.02
  done
  [ -x "$policy" ] || fail "no policy while a server is installed"
  kill "-$1" "$child"
  wait "$child" 2>/dev/null || status=$?
  [ "$status" -eq "$2" ] || fail "$1: status $status"
}

for signal in INT:130 TERM:143 HUP:129; do
  interrupt "${signal%:*}" "${signal#*:}"
  [ ! -e "$policy" ] || fail "the policy is there after ${signal%:*}"
done

interrupt KILL 137
[ -e "$policy" ] || fail "it was to be killed before it could remove the policy"
stub redis-server <<<"exit 0"
bash "$setup" >/dev/null
[ ! -e "$policy" ] || fail "the policy of a run that was killed is there after the next one"
rm -f "$work/bin/redis-server" "$work/slow"

bash "$setup" >/dev/null
[ ! -e "$policy" ] || fail "the policy is there after a run that nobody interrupted"

echo 'exit 0' >"$policy"
bash "$setup" >/dev/null
[ "$(cat "$policy")" = 'exit 0' ] || fail "the policy of the user is gone"
