#!/usr/bin/env bash
# Runs clang-tidy over our headers and sources, the compiler over each header by itself, and clang-format over all.
# Usage: scripts/tidy.sh [build-dir [folder...]]
#
# The build directory must be configured; the default is build/clang and all folders. Since clang-tidy takes minutes for
# the unit tests, scripts/test.sh names only the folders of the library; clang-format always sees everything. A source
# is skipped if it was clean and nothing that it includes has changed since (LIDO_TIDY_CACHE, as ccache does for
# compilers).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
build=${1:-build/clang}
all_folders=(src tests stress examples bench)
folders=("${@:2}")
[ ${#folders[@]} -gt 0 ] || folders=("${all_folders[@]}")

tool() { # the pinned version, because another one formats and warns differently
  command -v "$1-14" || command -v "$1" || { echo "tidy: $1 is missing; scripts/setup.sh installs it" >&2; exit 2; }
}
tidy=$(tool clang-tidy)
format=$(tool clang-format)
[ -f "$build/compile_commands.json" ] || { echo "tidy: no compile_commands.json in $build; configure it first" >&2; exit 2; }

sources() {
  local present=()
  for folder in include "${all_folders[@]}"; do
    [ ! -d "$folder" ] || present+=("$folder")
  done
  find "${present[@]}" -type f \( -name '*.[ch]pp' -o -name '*.[ch]' \) -print0
}

database=$build/tidy
mapfile -t files < <(python3 scripts/tidy_database.py "$build/compile_commands.json" "$database" "${folders[@]}")
[ ${#files[@]} -gt 0 ] || { echo "tidy: nothing of ours in $build/compile_commands.json" >&2; exit 2; }
for folder in "${folders[@]}"; do
  [[ " ${files[*]}" == *" $root/$folder/"* ]] ||
    { echo "tidy: $build builds nothing of $folder; configure it with that (LIDO_BUILD_STRESS and so on)" >&2; exit 2; }
done
headers=$(wc -l <"$database/headers")
[ "$headers" -gt 0 ] || echo "tidy: no header is checked by itself; the build has no VERIFY_INTERFACE_HEADER_SETS" >&2

status=0
# Not by --dry-run, with which clang-format 14 refuses each comment at the end of an inline namespace as it is.
# shellcheck disable=SC2016  # the inner shell's variables
sources | xargs -0 -n 40 -P "$(nproc)" bash -c '
  for file; do "$0" "$file" | diff -u --label "$file" --label formatted "$file" - || bad=yes; done
  [ -z "${bad:-}" ]' "$format" || status=1
# Each header by itself: one that leans on others does not compile.
xargs -d '\n' -n 1 -P "$(nproc)" bash -c <"$database/headers" || status=1
# One check follows calls into every function that it sees. About functions of another source it claims too much, such as
# that a size that is always possible may be refused. So it is given the sources of the library one by one. The
# generated files may lie outside the source tree, where clang-tidy finds no configuration. The database of a g++ build
# names warnings that clang does not know.
check() { # file
  local options=(-p "$database" --quiet "-warnings-as-errors=*" --extra-arg=-Wno-unknown-warning-option) key
  case $1 in
    */tidy/together/*.headers.cpp) options+=("--config-file=$root/.clang-tidy") ;;
    */tidy/together/*)
      options+=("--config-file=$root/.clang-tidy" "--checks=-bugprone-exception-escape") ;;
    "$root"/src/*) options+=("--checks=-*,bugprone-exception-escape") ;;
  esac
  key=$(python3 "$root/scripts/tidy_key.py" "$database" "$1" "$tidy") || key=
  if [ -n "$key" ] && [ -e "$clean/$key" ]; then
    touch "$clean/$key"
    return 0
  fi
  "$tidy" "${options[@]}" "$1" 2> >(grep -v ' warnings\? generated\.$' >&2) || return 1
  [ -z "$key" ] || touch "$clean/$key"
}
clean=${LIDO_TIDY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lido-tidy}
mkdir -p "$clean"
find "$clean" -type f -mtime +30 -delete # not used for a month
export -f check
export tidy database root clean
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'check "$1"' check || status=1
[ $status -eq 0 ] && echo "tidy: ok (${#files[@]} files; $headers headers by themselves)"
exit $status
