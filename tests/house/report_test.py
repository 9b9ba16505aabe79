"""report_verification reports what ran, what did not, and what was never tried; so does stress_mutants."""
import json
import unittest
from unittest import mock

from tree import TreeTest

import report_runs
import report_verification as report
import stress_mutants

RESULTS = """<testsuite timestamp="2026-11-22T03:33:08">
<testcase name="stress.one" time="1.5" status="run"><system-out>one: 70 operations, held
report: one stalls=3 forks=2</system-out></testcase>
<testcase name="stress.two" time="0" status="fail"><failure message=""/></testcase>
<testcase name="stress.three" time="0" status="notrun"><skipped message=""/></testcase>
</testsuite>"""


class Report(TreeTest):
    def run_of(self, *listed: str) -> report_runs.Run:
        self.write("junit.xml", RESULTS)
        return report_runs.Run(self.root / "junit.xml", {name: [name.split(".")[0]] for name in listed})

    def test_tests_that_did_not_run_are_named(self) -> None:
        run = self.run_of("stress.one", "stress.two", "stress.three", "stress.five", "stress.four")
        self.assertEqual(run.missing, ["stress.five", "stress.four"])
        said = "\n".join(report.missing_lines({"gcc": run, "tsan": None}))
        self.assertIn("GCC: 2 tests did not run:** `stress.five`, `stress.four`.", said)

    def test_whole_run_has_nothing_missing(self) -> None:
        self.assertEqual(list(report.missing_lines({"gcc": self.run_of("stress.one", "stress.two")})), [])

    def test_labels_of_which_nothing_ran_are_counted(self) -> None:
        run = self.run_of("stress.one", "house.size", "house.docs", "death.one")
        self.assertEqual(run.missing, [])
        self.assertIn("GCC, left out: 1 death, 2 house.", list(report.missing_lines({"gcc": run})))

    def test_cases_of_a_program_stand_for_it(self) -> None:
        self.write("gtest/stress.one.xml", """<testsuites><testsuite name="Pool"><testcase name="Works" status="run"
            result="completed" classname="Pool" time="0.5"/><testcase name="Breaks" status="run" result="completed"
            classname="Pool"><failure message=""/></testcase><testcase name="Later" status="run" result="skipped"
            classname="Pool"><skipped message=""/></testcase></testsuite></testsuites>""")
        tests = self.run_of("stress.one", "stress.two").tests
        self.assertEqual([(test.name, test.result) for test in tests if test.name.startswith("Pool")],
                         [("Pool.Works", "passed"), ("Pool.Breaks", "failed"), ("Pool.Later", "skipped")])
        self.assertNotIn("stress.one", [test.name for test in tests])

    def test_many_missing_tests_are_counted(self) -> None:
        run = self.run_of("stress.one", *(f"stress.{number}" for number in range(report.MOST_NAMED + 2)))
        self.assertIn(" and 2 more.", next(report.missing_lines({"gcc": run})))

    def test_chaos_that_did_not_run_for_minutes_is_called_so(self) -> None:
        with mock.patch.object(report, "ROOT", self.root):
            self.assertIn("for minutes: not run", "\n".join(report.chaos_section()))

    def test_chaos_is_shown_with_its_seeds_and_its_end(self) -> None:
        runs = {"echo": {"seconds": 9, "end": "held", "figures": {"seed": "7", "lost": "0"}},
                "redis": {"seconds": 9, "end": "a waiter was forgotten", "figures": {"seed": "8"}}}
        self.write("build/chaos.json", json.dumps({"date": "2026-11-22", "commit": "abc", "cores": 2, "load": 0.5,
                                                  "runs": runs}))
        with mock.patch.object(report, "ROOT", self.root):
            said = list(report.chaos_section())
        self.assertIn("| seed | 7 | 8 |", said)
        self.assertIn("| lost | 0 | - |", said)
        self.assertIn("| end | held | a waiter was forgotten |", said)

    def test_outages_are_shown_with_their_figures_and_their_end(self) -> None:
        with mock.patch.object(report, "ROOT", self.root):
            self.assertIn("Not run", "\n".join(report.outages_section()))
        rows = [{"what": "stopped", "errors": "3"}, {"what": "silent", "late_ms": "7"}]
        self.write("build/outages.json", json.dumps({"date": "2026-11-22", "commit": "abc", "cores": 2, "load": 0.5,
                                                    "runs": {"Redis": {"end": "held", "rows": rows}}}))
        with mock.patch.object(report, "ROOT", self.root):
            said = list(report.outages_section())
        self.assertIn("Redis: held", said)
        self.assertIn("| silent | - | 7 |", said)

    def test_failed_tests_are_counted(self) -> None:
        tests = self.run_of("stress.one", "stress.two", "stress.three").tests
        self.assertEqual([test.result for test in tests], ["passed", "failed", "skipped"])
        self.assertEqual(report.failures(tests, "^stress"), "1 of 3 tests fail")
        self.assertEqual(report.figure(tests, "one", "stalls"), 3)

    def test_rule_without_a_driver_is_not_called_missed(self) -> None:
        tried = {"seconds": 1, "noticed_by": None, "said": None}
        plain = json.loads(json.dumps({"rules": {"a": {**tried, "runs": 0}, "b": {**tried, "runs": 3}}}))
        self.assertEqual([report.plain_word(plain, rule) for rule in "abc"], ["no driver", "**missed**", "not tried"])


class Groups(unittest.TestCase):
    def test_groups_with_drivers_of_their_own_are_files_of_rules(self) -> None:
        files = {path.stem for path in (report.ROOT / "stress/mutants").glob("*.toml")}
        self.assertLessEqual(set(stress_mutants.COME_BY), files)


if __name__ == "__main__":
    unittest.main()
