#!/usr/bin/env bash
# Runs clang-tidy over our sources and over each header by itself, and clang-format over all of them.
# Usage: scripts/tidy.sh [build-dir [folder...]]    the build directory must be configured; default
# build/clang and all folders. clang-tidy takes minutes for the unit tests, so scripts/test.sh names
# only the folders of the library; clang-format always sees everything. A source that was clean, and of which
# nothing has changed that it includes, is not looked at again (LIDO_TIDY_CACHE, as ccache does for compilers).
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

# Prints our sources, and the files CMake generates for VERIFY_INTERFACE_HEADER_SETS: each includes one
# header and nothing else, so a header that leans on others fails here. Many of our sources are built a
# dozen times, once for every mutant; clang-tidy would check each of these, and complain of code that a
# mutant cuts off. So it gets a database of its own, with the first way a file is built: the library's. What is built
# with others as one translation unit is there by itself, as if it were compiled alone with the same options.
compiled() { # folder for the database
  python3 - "$build/compile_commands.json" "$1" "$root" "${folders[@]}" <<'PYTHON'
import json
import re
import sys
from pathlib import Path

database, reduced, root, *folders = sys.argv[1:]
ours = tuple(f"{root}/{folder}/" for folder in folders)
first = {}
for entry in json.loads(Path(database).read_text(encoding="utf-8")):
    file = (Path(entry["directory"]) / entry["file"]).resolve()
    united = re.findall('^#include "(.+)"', file.read_text(encoding="utf-8"), re.M) if file.parent.name == "Unity" else []
    for source in united or [str(file)]:
        alone = {**entry, "file": source, "command": entry["command"].replace(entry["file"], source)}
        first.setdefault(source, alone)
wanted = sorted(f for f in first if f.startswith(ours) or "_verify_interface_header_sets/" in f)
Path(reduced).mkdir(exist_ok=True)
text = json.dumps([first[f] for f in wanted], indent=0)
Path(reduced, "compile_commands.json").write_text(text, encoding="utf-8")
print("\n".join(wanted))
PYTHON
}

sources() {
  local present=()
  for folder in include "${all_folders[@]}"; do
    [ ! -d "$folder" ] || present+=("$folder")
  done
  find "${present[@]}" -type f \( -name '*.hpp' -o -name '*.cpp' \) -print0
}

database=$build/tidy
mapfile -t files < <(compiled "$database")
[ ${#files[@]} -gt 0 ] || { echo "tidy: nothing of ours in $build/compile_commands.json" >&2; exit 2; }
headers=$(printf '%s\n' "${files[@]}" | grep -c _verify_interface_header_sets/ || true)
[ "$headers" -gt 0 ] || echo "tidy: no header is checked by itself; the build has no VERIFY_INTERFACE_HEADER_SETS" >&2

status=0
sources | xargs -0 "$format" --dry-run -Werror || status=1
# The generated files may lie outside the source tree, where clang-tidy finds no configuration. The
# database of a g++ build names warnings that clang does not know.
check() { # file
  local options=(-p "$database" --quiet "-warnings-as-errors=*" --extra-arg=-Wno-unknown-warning-option) key
  [[ $1 != *_verify_interface_header_sets/* ]] || options+=("--config-file=$root/.clang-tidy")
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
find "$clean" -type f -mtime +30 -delete # what nobody has asked for
export -f check
export tidy database root clean
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'check "$1"' check || status=1
[ $status -eq 0 ] && echo "tidy: ok (${#files[@]} files, $headers of them one header each)"
exit $status
