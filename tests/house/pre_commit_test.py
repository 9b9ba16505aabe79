"""The hooks of .pre-commit-config.yaml name existing files, run without a network, and find the faults they are for."""
import os
import re
import shutil
import subprocess
import unittest

from tree import ROOT, TreeTest

CONFIG = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^        entry: (.+)$", CONFIG, re.M)
SHARED = {"check_common.py", "check_atomics_notes.py"}  # no checkers of their own


class PreCommit(TreeTest):
    def run_in_tree(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PRE_COMMIT_HOME": str(self.root / "home"), "GIT_CONFIG_GLOBAL": str(self.root / "no-configuration")}
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)

    def test_configuration_is_valid_and_local(self) -> None:
        done = self.run_in_tree("pre-commit", "validate-config", str(ROOT / ".pre-commit-config.yaml"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(set(re.findall(r"repo: (.+)", CONFIG)), {"local"})
        self.assertEqual(CONFIG.count("language: system"), len(ENTRIES))

    def test_every_script_that_is_named_can_be_run(self) -> None:
        scripts = [word for entry in ENTRIES for word in entry.split() if "/" in word]
        self.assertGreater(len(scripts), 5)
        for script in scripts:
            self.assertTrue((ROOT / script).is_file(), script)
            if script.startswith("scripts/"):
                self.assertTrue(os.access(ROOT / script, os.X_OK), script)

    def test_every_checker_is_named(self) -> None:
        checkers = {path.name for path in (ROOT / "scripts").glob("check_*.py")} - SHARED
        self.assertEqual({entry.removeprefix("scripts/") for entry in ENTRIES if entry.startswith("scripts/")}, checkers)

    def test_hooks_find_faults(self) -> None:
        shutil.copy(ROOT / ".pre-commit-config.yaml", self.root)
        shutil.copy(ROOT / ".clang-format", self.root)
        self.write("good.cpp", "int number();\n")
        self.write("bad.cpp", "int   number( );  // rec" + "ieve\n")
        shutil.copytree(ROOT / "scripts", self.root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        for command in (["init", "-q"], ["add", "."]):
            self.assertEqual(self.run_in_tree("git", *command).returncode, 0)
        hooks = ["codespell", "size"] + ["clang-format"] * bool(shutil.which("clang-format-14"))
        for hook in hooks:
            done = self.run_in_tree("pre-commit", "run", hook, "--files", "good.cpp")
            self.assertEqual(done.returncode, 0, hook + done.stdout)
        for hook in set(hooks) - {"size"}:
            self.assertNotEqual(self.run_in_tree("pre-commit", "run", hook, "--files", "bad.cpp").returncode, 0, hook)


if __name__ == "__main__":
    unittest.main()
