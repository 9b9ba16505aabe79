"""Compares the reference of metrics, alert rules and dashboard with the table in the library; parses the JSON.

Usage: reference_test.py PROGRAM [--write]    PROGRAM prints the table; --write brings the reference up to date
"""
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/stats.md"
NAMING = [*sorted((ROOT / "examples/metrics").glob("*.yml")), ROOT / "examples/metrics/dashboard.json",
          ROOT / "docs/how-to/watch-pools.md", ROOT / "docs/how-to/respond-to-alerts.md"]
ALERTS = ROOT / "docs/how-to/respond-to-alerts.md"
VARIABLES = ["job", "instance", "pool"]
SLOTS = "include/lido/base/pool_stats.hpp"
STRUCTS = {"pool_stats": SLOTS, "slot_pool_stats": SLOTS, "growth_stats": SLOTS,
           "resource_pool_stats": "include/lido/resource/stats.hpp",
           "resource_pool_times": "include/lido/resource/duration_histogram.hpp"}
MEMBER = re.compile(r"^  (?!std::optional<growth_stats>)(?:[\w:]+(?:<[^()\n]*>)?) ([\w, ]+?)(?:\{\w*\}| = [\w:]+)?;", re.M)
PROGRAM = ""


def output(*arguments: str) -> str:
    return subprocess.run([PROGRAM, *arguments], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def tables() -> dict[str, str]:
    """Returns the lines of each table by the name of its struct."""
    parts = re.split(r"^(\w+)\n", output(), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def members(struct: str) -> set[str]:
    text = (ROOT / STRUCTS[struct]).read_text(encoding="utf-8")
    body = re.search(rf"^struct {struct}\b.*?^\}};", text, re.S | re.M)
    return {name for names in MEMBER.findall(body[0] if body else "") for name in names.split(", ")}


def metrics() -> set[str]:
    return set(re.findall(r"`(lido_pool_\w+)", output()))


def updated(page: str, fresh: dict[str, str]) -> str:
    for name, table in fresh.items():
        begin, end = f"<!-- generated: {name} -->\n", "<!-- /generated -->"
        page = re.sub(f"{begin}.*?{end}", lambda _, new=begin + table + end: new, page, flags=re.S)
    return page


class Reference(unittest.TestCase):
    def test_is_what_the_library_says(self) -> None:
        page = PAGE.read_text(encoding="utf-8")
        self.assertEqual(page, updated(page, tables()), "reference_test.py PROGRAM --write brings it up to date")
        for name in STRUCTS:
            self.assertIn(f"<!-- generated: {name} -->\n| member |", page)

    def test_has_each_member_once(self) -> None:
        for name, table in tables().items():
            rows = re.findall(r"^\| `(\w+)`", table, re.M)
            self.assertEqual(len(rows), len(set(rows)), name)
            self.assertGreater(len(rows), 2, name)
            self.assertEqual(set(rows), members(name), name)

    def test_has_what_rules_dashboard_and_how_to_name(self) -> None:
        known = metrics()
        for file in NAMING:
            named = set(re.findall(r"\blido_pool_\w+", file.read_text(encoding="utf-8")))
            self.assertTrue(named, file)
            series = {re.sub(r"_(?:bucket|sum|count)$", "", name) if name not in known else name for name in named}
            self.assertEqual(series - known, set(), file)


class Dashboard(unittest.TestCase):
    def setUp(self) -> None:
        self.board = json.loads((ROOT / "examples/metrics/dashboard.json").read_text(encoding="utf-8"))

    def test_every_selector_has_all_variables(self) -> None:
        queries = [target["expr"] for panel in self.board["panels"] for target in panel["targets"]]
        self.assertGreater(len(queries), 10)
        for query in queries:
            selectors = re.findall(r"lido_pool_\w+\{([^}]*)\}", query)
            self.assertEqual(len(selectors), query.count("lido_pool_"), query)
            for selector in selectors:
                for name in VARIABLES:
                    self.assertIn(f'{name}=~"${name}"', selector.split(","), query)

    def test_each_variable_depends_on_those_before_it(self) -> None:
        variables = {each["name"]: each for each in self.board["templating"]["list"] if each["type"] == "query"}
        self.assertEqual(list(variables), VARIABLES)
        for index, name in enumerate(VARIABLES):
            before = ",".join(f'{other}=~"${other}"' for other in VARIABLES[:index])
            series = f"lido_pool_max{{{before}}}" if before else "lido_pool_max"
            self.assertEqual(variables[name]["query"], f"label_values({series}, {name})")
            self.assertEqual(variables[name]["allValue"], ".*")


class Alerts(unittest.TestCase):
    def setUp(self) -> None:
        rules = (ROOT / "examples/metrics/alerts.yml").read_text(encoding="utf-8")
        self.rules = {rule.split("\n")[0]: rule for rule in re.split(r"^ +- alert: ", rules, flags=re.M)[1:]}
        self.page = ALERTS.read_text(encoding="utf-8")
        self.assertEqual(len(self.rules), 6)

    def test_the_page_has_each_alert_with_its_severity_and_delay(self) -> None:
        for name, rule in self.rules.items():
            severity = re.search(r"severity: (\w+)", rule)[1]
            delay = re.search(r"^ +for: (\w+)", rule, re.M)
            row = rf"^\| `{name}` \|.*\| {delay[1] if delay else 'at once'} \| {severity} \|$"
            self.assertRegex(self.page, re.compile(row, re.M))
            self.assertIn(f"\n## {name}\n", self.page)

    def test_the_page_has_the_window_and_the_threshold_of_each_alert(self) -> None:
        for name, rule in self.rules.items():
            condition = re.search(rf"^\| `{name}` \| (.*?) \|", self.page, re.M)[1]
            windows = re.findall(r"last (?:(\d+) )?minutes?", condition)
            self.assertEqual({window or "1" for window in windows}, set(re.findall(r"\[(\d+)m\]", rule)), name)
            thresholds = set(re.findall(r" > ([\d.]+)", rule)) - {"0"}
            self.assertEqual(set(re.findall(r"([\d.]+) s\b", condition)), thresholds, name)

    def test_the_page_gives_a_reason_for_each_delay(self) -> None:
        reasons = re.findall(r"^- \*\*For (\d+) minutes?\*\*", self.page, re.M)
        delays = re.findall(r"^ +for: (\d+)m$", "".join(self.rules.values()), re.M)
        self.assertEqual(sorted(reasons), sorted(set(delays)))


class Json(unittest.TestCase):
    def test_is_read_back_without_what_a_name_may_not_have(self) -> None:
        pools = json.loads(output("json"))["pools"]
        self.assertEqual([pool["name"] for pool in pools],
                         ["plain", "??/?????????", "Größe € 🏖", "a?"])
        self.assertEqual([pool["number"] for pool in pools], [1, 2, 3, 4])
        self.assertEqual(pools[0]["destroyed"]["too_old"], 3)
        self.assertEqual(pools[0]["longest_wait"], 1.5)
        self.assertEqual(pools[1]["caches"], "locked")
        self.assertNotIn("created", pools[1])
        self.assertNotIn("hits", pools[1])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(updated(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")
    else:
        unittest.main()
