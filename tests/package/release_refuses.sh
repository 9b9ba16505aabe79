#!/usr/bin/env bash
# Tests what scripts/release.sh refuses before it builds anything, in a small repository. Where it would continue, a tool is
# missing.
# Usage: release_refuses.sh SOURCE_FOLDER
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/tree/include/lido" "$work/tree/cmake" "$work/tree/scripts" "$work/last"
ln -s /usr/bin/* /bin/* "$work/bin/" 2>/dev/null || true
rm -f "$work/bin/abidw"
ln -sf "$(command -v git)" "$(command -v python3)" "$work/bin/"
PATH=$work/bin
cd "$work/tree"
cp "$1"/scripts/{release.sh,check_project.py,check_common.py} scripts/
printf '#define LIDO_%s\n' 'VERSION_MAJOR 4' 'VERSION_MINOR 5' 'VERSION_PATCH 6' 'ABI_VERSION 1' >include/lido/version.hpp
printf '{"address": "", "contact": ""}\n' >cmake/project.json
export GIT_CONFIG_GLOBAL=$work/no-configuration
git init -q
failures=0

commit() { git add -A && git -c user.name=test -c user.email=test@test.invalid commit -qm test; }
changelog() { # lines
  printf '%s\n' '# Changelog' "$@" '## [4.5.5] - 2020-01-01' '- A change.' >CHANGELOG.md
  commit
}
says() { # status, text, arguments...
  local status=0
  scripts/release.sh "${@:3}" >"$work/out" 2>&1 </dev/null || status=$?
  if [ "$status" -ne "$1" ] || ! grep -qF -- "$2" "$work/out"; then
    echo "FAILED: release.sh ${*:3}: status $status instead of $1, or no '$2':" >&2
    sed 's/^/    /' "$work/out" >&2
    failures=$((failures + 1))
  fi
}
accepts() { says 1 "abidw is missing" "$@"; }

changelog '## [Unreleased]' '- A change.'
says 2 "Usage: scripts/release.sh"
says 2 "Usage: scripts/release.sh" --nonsense 4.5.6
says 1 "4.5 is no version" 4.5
says 1 "v4.5.6 is no version" v4.5.6
says 1 "4.5.6-beta is no version" 4.5.6-beta
says 1 "version.hpp says 4.5.6, which is not 4.5.7" 4.5.7
says 1 "version.hpp says 4.5.6, which is not 4.6.0" 4.6.0-rc1
says 1 "two versions" 4.5.6 4.5.6-rc1
says 1 "there is no liblido.abi" --previous "$work/last" 4.5.6-rc1
accepts 4.5.6-rc1
says 1 "no section '## [4.5.6]" 4.5.6
touch "$work/last/liblido.abi"
accepts --skip-tests --previous "$work/last" 4.5.6-rc1
here=$PWD
(cd "$work" && PATH=$work/bin "$here/scripts/release.sh" --previous last 4.5.6-rc1 >"$work/out" 2>&1) || true
grep -q "abidw is missing" "$work/out" || { echo "FAILED: of a relative folder: $(cat "$work/out")" >&2 && exit 1; }

touch new
says 1 "not committed: ?? new" 4.5.6-rc1
rm new && echo >>CHANGELOG.md
says 1 "not committed:  M CHANGELOG.md" 4.5.6-rc1
changelog '## [Unreleased]' ''
says 1 "no section" 4.5.6-rc1
changelog '## [Unreleased]' '## [4.5.6] - 2020-02-02' '- Another change.'
accepts 4.5.6
accepts 4.5.6-rc2

# Files that git ignores are not packed. Nothing is built.
printf '%s\n' build secret >.git/info/exclude
touch secret
for tool in abidw abidiff cmake cpack; do
  rm -f "$work/bin/$tool"
  printf '#!/bin/sh\necho "$@" >>"%s"\n[ %s != cpack ]\n' "$work/calls" $tool >"$work/bin/$tool" && chmod 755 "$work/bin/$tool"
done
says 1 "static: packing failed" --skip-tests 4.5.6
packed=$PWD/build/release-work/lido-4.5.6
grep -q -- "-S $packed " "$work/calls" && [ -e "$packed/CHANGELOG.md" ] && [ ! -e "$packed/secret" ] ||
  { echo "FAILED: packed is $(ls "$packed"), by $(cat "$work/calls")" >&2 && exit 1; }
rm "$work/bin/abidw"
touch build/release/liblido.abi
says 1 "this folder is written anew" --previous build/release 4.5.6
mkdir build/release/last && touch build/release/last/liblido.abi
says 1 "this folder is written anew" --previous build/release/last 4.5.6

git tag v4.5.4-rc1
accepts 4.5.6
git tag v4.5.5
says 1 "--previous is needed: there is a release v4.5.5" 4.5.6
accepts --previous "$work/last" 4.5.6
git tag v4.5.6
says 1 "a tag v4.5.6 already" 4.5.6
echo 'set(version 4.5.6)' >cmake/more.cmake && commit
says 1 "check_project.py failed" --previous "$work/last" 4.5.6-rc2
[ "$failures" -eq 0 ] || exit 1
echo "release refuses: ok"
