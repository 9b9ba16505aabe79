"""select_tests.py names what has to be built for a test."""
import shutil
import subprocess
import sys
import unittest

from tree import ROOT, TreeTest

PROJECT = """cmake_minimum_required(VERSION 3.22)
project(selection LANGUAGES NONE)
enable_testing()
add_subdirectory(below)
"""
BELOW = """add_custom_command(OUTPUT program COMMAND ${CMAKE_COMMAND} -E touch program)
add_custom_target(build_it DEPENDS program)
add_test(NAME runs COMMAND ${CMAKE_CURRENT_BINARY_DIR}/program)
add_test(NAME installs COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR})
set_tests_properties(runs installs PROPERTIES LABELS "kind")
"""


class Selection(TreeTest):
    def configure(self) -> None:
        self.write("CMakeLists.txt", PROJECT)
        self.write("below/CMakeLists.txt", BELOW)
        subprocess.run(["cmake", "-S", self.root, "-B", self.root / "build", "-G", "Ninja"], capture_output=True, check=True)

    def select(self, *arguments: str) -> list[str]:
        command = [sys.executable, "-B", ROOT / "scripts/select_tests.py", self.root / "build", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.splitlines() or [done.stderr]

    def test_names_programs_and_the_library_that_is_installed(self) -> None:
        self.configure()
        self.assertEqual(self.select("runs"), ["1", "below/program"])
        self.assertEqual(self.select("installs"), ["2", "src/all"])
        self.assertEqual(self.select("--label", "kind"), ["1,2", "below/program src/all"])
        self.assertIn("no test is called", self.select("walks")[0])

    def test_a_build_that_a_test_left_below_is_another(self) -> None:
        self.configure()
        shutil.copytree(self.root / "build/below", self.root / "build/below/of_a_test/below")
        copy = self.root / "build/below/of_a_test/below/CTestTestfile.cmake"
        copy.write_text(copy.read_text(encoding="utf-8").replace("/program", "/of_a_test/program"), encoding="utf-8")
        self.assertEqual(self.select("runs"), ["1", "below/program"])


if __name__ == "__main__":
    unittest.main()
