#!/usr/bin/env bash
# Breaks each rule of stress/mutants/*.toml, weakens each memory order, puts in each slip of stress/mutants/slips. Lists
# what notices it: a scenario of the model checker, a stress driver, a fuzz target or a unit test. Exit status 1 if one
# survives.
# usage: scripts/mutants.sh [REGEX]    only mutants whose name matches
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -le 1 ] && [ "${1-}" != --help ] && [ "${1-}" != -h ] || { sed -n '2,5s/^# //p' "$0"; exit 2; }
wanted=${1-.}
build=build/gcc
out=build/mutants
mkdir -p $out
rm -f $out/model.json $out/tests.xml $out/slips.json
cmake --preset gcc -Wno-dev --no-warn-unused-cli >$out/build.log
mapfile -t chosen < <(scripts/select_tests.py $build --label mutant)
# shellcheck disable=SC2086  # a word for each target
cmake --build --preset gcc --target lido_model ${chosen[1]} >>$out/build.log || { tail -n 40 $out/build.log >&2; exit 1; }

model=$build/stress/model/lido_model
# The names as --list pads them: everything up to the two spaces.
mapfile -t names < <($model mutants --list | sed -E 's/  +.*//' | grep -E -- "$wanted" || true)
failed=0
[ ${#names[@]} -eq 0 ] || $model mutants --executions 6000 --moment 300 --json $out/model.json "${names[@]}" >$out/model.log || failed=1
ctest --preset gcc -L mutant -R "$wanted" -E '^mutant[.](model[.]|spin[.]|slips$)' --output-junit "$PWD/$out/tests.xml" \
  >$out/tests.log 2>&1 || failed=1
if sed -nE 's/^\[(.*)\]$/\1/p' stress/mutants/slips/slips.toml | grep -qE -- "$wanted"; then
  scripts/slips.py --json $out/slips.json "$wanted" >$out/slips.log 2>&1 || failed=1
fi

python3 -B - $out stress/mutants <<'PYTHON'
import json, re, sys, tomllib
from pathlib import Path
from xml.etree import ElementTree

out, rules = Path(sys.argv[1]), Path(sys.argv[2])
names = {name for file in rules.glob("*.toml") if file.stem != "windows" for name in tomllib.loads(file.read_text())}
found, survived = {}, []
model = json.loads((out / "model.json").read_text()) if (out / "model.json").exists() else []
for one in model:
    killed = one["end"] != "SURVIVED"
    found.setdefault((one["kind"], one["mutant"]), []).append("model " + one["scenario"] if killed else "survives the model")
cases = ElementTree.parse(out / "tests.xml").iter("testcase") if (out / "tests.xml").exists() else []
for case in cases:
    name = case.get("name").removeprefix("mutant.")
    rule = next((part for part in name.split(".") if part in names), None)
    if rule:
        found.setdefault(("rule", rule), []).append(("test mutant." if case.get("status") == "run" else "NOT NOTICED BY mutant.") + name)
slips = json.loads((out / "slips.json").read_text()) if (out / "slips.json").exists() else {}
for name, test in slips.items():
    found["slip", name] = ["test " + test if test else "NOT NOTICED by its tests"]
for (kind, name), ways in sorted(found.items()):
    print(f"{kind:<6} {name:<52} {'; '.join(ways)}")
dead = sum(any(not way.startswith(("survives", "NOT")) for way in ways) for ways in found.values())
print(f"{len(found)} mutants, {dead} killed; those that survive the model are in stress/model/mutants/known_equivalent.txt, with the reason")
PYTHON
[ $failed -eq 0 ] || { echo "mutants: one survived; see $out/model.log, $out/tests.log and $out/slips.log" >&2; exit 1; }
