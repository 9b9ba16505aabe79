"""scripts/doctor.sh prints what a report needs, even without a compiler, and queries the kernel for membarrier."""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from tree import ROOT, TreeTest

HEADER = (ROOT / "include/lido/version.hpp").read_text(encoding="utf-8")
VERSION = ".".join(re.findall(r"LIDO_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", HEADER, re.M))
TOOLS = ["sh", "cat", "dirname", "getconf", "grep", "head", "ldd", "mktemp", "nproc", "rm", "sed", "sort", "tr", "uname"]
EVERYWHERE = {"Lido", "CMake", "kernel", "C library", "membarrier", "processor", "cores", "page size", "huge pages",
              "address space, KiB", "container or VM"}
NOT_ASKED = "not asked: that needs a compiler or Python"


class Doctor(TreeTest):
    def setUp(self) -> None:
        super().setUp()
        self.commands = self.root / "bin"
        self.commands.mkdir()
        for tool in TOOLS:
            if found := shutil.which(tool):
                (self.commands / tool).symlink_to(found)

    def add(self, name: str, program: str) -> None:
        """Makes a script, since a compiler looks for its parts beside its link."""
        path = self.commands / name
        path.write_text(f'#!/bin/sh\nPATH={os.defpath} exec {program} "$@"\n', encoding="utf-8")
        path.chmod(0o755)

    def run_on(self, script: Path) -> dict[str, str]:
        done = subprocess.run(["sh", str(script)], env={"PATH": str(self.commands)}, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        said = dict(line.strip().split(":", 1) for line in done.stdout.splitlines())
        return {name: value.strip() for name, value in said.items()}

    def said(self) -> dict[str, str]:
        return self.run_on(ROOT / "scripts/doctor.sh")

    def test_without_compiler_and_python_the_rest_is_said(self) -> None:
        said = self.said()
        self.assertLessEqual(EVERYWHERE, set(said))
        self.assertEqual((said["compiler"], said["CMake"], said["membarrier"]), ("none", "none", NOT_ASKED))
        self.assertEqual(said["Lido"].split(",")[0], VERSION)
        self.assertEqual(said["page size"], str(os.sysconf("SC_PAGESIZE")))
        self.assertEqual(said["kernel"].split()[:2], [os.uname().sysname, os.uname().release])
        self.assertNotIn("unknown", (said["C library"], said["cores"]))

    def test_compiler_and_python_ask_the_kernel_alike(self) -> None:
        self.add("python3", sys.executable)
        by_python = self.said()["membarrier"]
        (self.commands / "python3").unlink()
        self.add("g++", shutil.which("g++") or "g++")
        said = self.said()
        self.assertRegex(said["its library"], r"^libstdc\+\+ \d+$")
        self.assertIn(said["membarrier"].split()[0], ("yes", *{os.strerror(n).split()[0] for n in (1, 22, 38)}))
        if by_python != NOT_ASKED:  # where it knows the number of the call
            self.assertEqual(said["membarrier"], by_python)
        if os.uname().machine == "x86_64":
            registered = ctypes.CDLL(None).syscall(324, 16, 0, 0) == 0
            self.assertEqual(said["membarrier"] == "yes", registered)

    def test_commit_is_said_in_a_clone_alone(self) -> None:
        self.assertNotIn("commit", self.said()["Lido"])  # there is no git
        self.write("include/lido/version.hpp", HEADER)
        self.write("scripts/doctor.sh", (ROOT / "scripts/doctor.sh").read_text(encoding="utf-8"))
        (self.commands / "git").symlink_to(shutil.which("git") or "git")
        script = self.root / "scripts/doctor.sh"
        self.assertEqual(self.run_on(script)["Lido"], VERSION)
        named = ["-c", "user.name=test", "-c", "user.email=test@test.invalid"]
        for command in (["init", "-q"], ["add", "scripts"], [*named, "commit", "-qm", "test"]):
            subprocess.run(["git", "-C", str(self.root), *command], check=True, capture_output=True)
        self.assertRegex(self.run_on(script)["Lido"], rf"^{re.escape(VERSION)}, commit [0-9a-f]{{12}}, changed$")

    def test_script_without_sources_says_so(self) -> None:
        script = self.root / "doctor.sh"
        shutil.copy(ROOT / "scripts/doctor.sh", script)
        self.assertEqual(self.run_on(script)["Lido"], "no sources beside this script")


if __name__ == "__main__":
    unittest.main()
