"""report_failures names what failed and how to run it alone, in ten lines; and the table of test.sh marks slower steps."""
import subprocess
import unittest
from unittest import mock

from tree import ROOT, TreeTest

import report_failures

LISTED = [{"name": "unit.pool", "command": [f"{report_failures.ROOT}/build/gcc/tests/pool_tests", "--gtest_output=xml:x"],
           "properties": [{"name": "ENVIRONMENT", "value": ["A=b c"]}]}]
POOL = '<testcase name="unit.pool" status="fail"><failure message=""/><system-out>{}</system-out></testcase>'
OTHERS = """<testcase name="stress.x" status="fail"><failure message=""/></testcase>
<testcase name="stress.good" status="run"/>
<testcase name="docs.skips" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="demo.absent" status="notrun"><skipped message="Unable to find executable"/></testcase>"""
CASE = '<testcase name="{}" status="run" classname="Pool">{}</testcase>'
PROGRAM = "    env 'A=b c' build/gcc/tests/pool_tests --gtest_filter=Pool."


class Failures(TreeTest):
    def lines(self, *cases: str) -> list[str]:
        if cases:
            self.write("junit.xml", f"<testsuite>{''.join(cases)}</testsuite>")
        with mock.patch.object(report_failures, "listed_tests", return_value=LISTED):
            return report_failures.failure_lines("gcc", self.root)

    def test_each_failed_test_has_a_command(self) -> None:
        self.assertEqual(self.lines(OTHERS), [
            "FAILED: 2 tests of gcc; the output is in build/gcc/test.log. To run each alone:",
            r"  ctest --preset gcc -R '^stress\.x$'", r"  ctest --preset gcc -R '^demo\.absent$'"])

    def test_cases_of_a_program_have_a_filter(self) -> None:
        self.write("gtest/unit.pool.xml", f"""<testsuites>{CASE.format("Works", "")}
            {CASE.format("Breaks/0", '<failure message=""/>')}</testsuites>""")
        self.assertEqual(self.lines(POOL)[1:], [r"  ctest --preset gcc -R '^unit\.pool$'", f"{PROGRAM}Breaks/0"])

    def test_crash_is_that_of_the_case_that_was_running(self) -> None:
        output = "".join(f"[ {state:>8} ] Pool.{name}\n" for state, name in
                         (("RUN", "Works"), ("OK", "Works"), ("RUN", "Breaks"), ("FAILED", "Breaks"), ("RUN", "Crashes")))
        self.assertEqual(self.lines(POOL.format(output))[2:], [f"{PROGRAM}Breaks", f"{PROGRAM}Crashes"])

    def test_many_failures_are_counted(self) -> None:
        failed = "".join(CASE.format(f"Breaks{number}", '<failure message=""/>') for number in range(20))
        self.write("gtest/unit.pool.xml", f"<testsuites>{failed}</testsuites>")
        lines = self.lines(POOL, OTHERS)
        self.assertEqual((len(lines), lines[0][:16], lines[-1]), (10, "FAILED: 22 tests", "  and 15 more"))

    def test_failed_build_names_its_log(self) -> None:
        self.write("build.log", "[1/2] g++\nFAILED: src/a.cpp.o \nFAILED: [code=1] src/b.cpp.o \nninja: build stopped\n")
        self.assertEqual(self.lines(), [
            "FAILED: the build of gcc; the output is in build/gcc/build.log. To run a step alone:",
            "  cmake --build --preset gcc --target src/a.cpp.o", "  cmake --build --preset gcc --target src/b.cpp.o"])

    def test_run_that_did_not_end_names_its_logs(self) -> None:
        self.assertIn("did not come to its end", self.lines()[0])


class Table(TreeTest):
    RECORD = "# a comment\nshare\tfast\t30\nshare\tslow\t30\nshare\tsmall\t3\nall\tslow\t900\n"

    def table(self, ends: str) -> str:
        """Runs the functions of test.sh in steps that take 39, 40 and 12 seconds; `cpu` is in centiseconds."""
        self.write("scripts/test_cpu.tsv", self.RECORD)
        text = (ROOT / "scripts/test.sh").read_text(encoding="utf-8")
        functions = text[text.index("# ---- the table"):text.index("# ---- the steps")]
        script = f"set -euo pipefail; scope=share soak=no executions=1\n{functions}\ncpu() {{ echo $now; }}; now=0\n"
        for name, now in (("fast", 3900), ("slow", 7900), ("small", 9100)):
            script += f"begin_step {name}; now={now}\n"
        done = subprocess.run(["bash", "-c", script + ends], cwd=self.root, capture_output=True, text=True, check=False)
        return done.stdout[done.stdout.index("\nstep "):]

    def test_step_that_took_a_third_more_is_marked(self) -> None:
        table = self.table("step_tests=7; exit 0")
        self.assertEqual([line.split()[2:4] for line in table.splitlines()[2:5]], [["39", "30"], ["40", "30"], ["12", "3"]])
        self.assertEqual([line.split()[0] for line in table.splitlines() if "A THIRD MORE" in line], ["slow"])
        self.assertEqual((self.root / "build/test_cpu.tsv").read_text(encoding="utf-8"), "# a comment\nall\tslow\t900\n"
                         "share\tfast\t39\nshare\tslow\t40\nshare\tsmall\t12\nshare\ttotal\t91\n")

    def test_failed_run_ends_with_what_failed_and_is_not_recorded(self) -> None:
        self.assertTrue(self.table("exit 3").endswith("\nFAILED: small; its output is above the table.\n"))
        self.assertTrue(self.table("on_failure=(echo broken); exit 3").endswith("\nbroken\n"))
        self.assertFalse((self.root / "build/test_cpu.tsv").exists())


if __name__ == "__main__":
    unittest.main()
