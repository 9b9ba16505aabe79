"""Steps of the workflows call existing scripts and presets, and forms for reports have what the forge requires.

tests/house/CMakeLists.txt runs actionlint, which knows what a workflow may contain.
"""
import importlib.util
import json
import re
import unittest
from pathlib import Path

from tree import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
PRESETS = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
ACTIONS = {"actions/checkout", "actions/upload-pages-artifact", "actions/deploy-pages", "vmactions/freebsd-vm"}  # by their major version
OF_THE_SYSTEM = r"(?:vcpkg install|brew install|pacman -S|pkg install -y) "  # for tools that scripts/setup.sh cannot install
MATRIX = re.compile(r"\$\{\{ matrix\.(\w+) \}\}")


def names(kind: str) -> set[str]:
    return {preset["name"] for preset in PRESETS[kind] if not preset.get("hidden")}


def fault(step: str, known: set[str]) -> str:
    """Returns what is wrong with a command of a workflow; `known` are the presets of a matrix."""
    command = re.sub(r"'[^']*'", "''", step.removeprefix("setarch -R "))
    if script := re.match(r"scripts/\S+", command):
        return "" if (ROOT / script[0]).is_file() else f"there is no {script[0]}"
    called = re.match(r"(?:(cmake --build)|(cmake)|(ctest)) --preset (\S+|\$\{\{.*?\}\})(?: -[^&|;]*)?$", command)
    if not called:
        return "" if re.match(OF_THE_SYSTEM, command) else f"neither a script nor a preset: {command}"
    kind = "buildPresets" if called[1] else "configurePresets" if called[2] else "testPresets"
    missing = (known if MATRIX.match(called[4]) else {called[4]}) - names(kind)
    return f"no preset {missing} in {kind}" if missing else ""


def steps(text: str) -> list[str]:
    """Returns commands, including those passed to an action, one per line."""
    found = re.findall(r"^ +(?:- )?(?:run|prepare): (?![|>{])(.+)$", text, re.M)
    blocks = re.findall(r"^( +)(?:- )?run: \|\n((?:\1 +.*\n)+)", text, re.M)
    return found + [line.strip() for _, block in blocks for line in block.splitlines()]


class Workflows(unittest.TestCase):
    def test_steps_call_scripts_and_presets(self) -> None:
        count = 0
        for path in WORKFLOWS:
            text = path.read_text(encoding="utf-8")
            known = set(re.split(r", *", (re.search(r"preset: \[(.*?)\]", text) or ["", ""])[1]))
            for step in steps(text):
                count += 1
                self.assertEqual(fault(step, known), "", f"{path.name}: {step}")
        self.assertGreater(count, 20)

    def test_other_commands_are_refused(self) -> None:
        for step in ("make", "scripts/nothing.sh", "cmake --preset nothing", "ctest --preset android", "cmake -B build",
                     "cmake --preset gcc && make", "curl x | sh", "cmake --preset ${{ matrix.preset }}"):
            self.assertNotEqual(fault(step, {"nothing"}), "", step)
        self.assertEqual(steps("    - run: |\n        a\n        b\n    - run: c\n      prepare: d\n"), ["c", "d", "a", "b"])

    def test_actions_are_few_and_have_a_major_version(self) -> None:
        for path in WORKFLOWS:
            for action, version in re.findall(r"uses: ([^@\s]+)(\S*)", path.read_text(encoding="utf-8")):
                self.assertIn(action, ACTIONS)
                self.assertRegex(version, r"^@v\d+$")

    @unittest.skipUnless(importlib.util.find_spec("yaml"), "there is no module yaml")
    def test_forms_have_what_the_forge_wants(self) -> None:
        import yaml  # noqa: PLC0415

        self.assertEqual([path.name for path in FORMS], ["bug.yml", "feature.yml"])
        for path in FORMS:
            form = yaml.safe_load(path.read_text(encoding="utf-8"))
            self.assertLessEqual({"name", "description", "body"}, set(form), path.name)
            fields = [field for field in form["body"] if field["type"] != "markdown"]
            self.assertEqual(len({field["id"] for field in fields}), len(fields), "an id stands twice")
            for field in fields:
                self.assertIn(field["type"], {"textarea", "input", "dropdown", "checkboxes"})
                self.assertTrue(field["attributes"]["label"])
            for named in re.findall(r"\b(?:scripts|docs)/[\w/-]+\.\w+", path.read_text(encoding="utf-8")):
                self.assertTrue((ROOT / named).is_file(), named)
        self.assertEqual(yaml.safe_load(Path(ROOT / "CITATION.cff").read_text(encoding="utf-8"))["cff-version"], "1.2.0")


if __name__ == "__main__":
    unittest.main()
