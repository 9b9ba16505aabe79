"""Lets a real Prometheus scrape the example; checks its answers, and promtool's verdict on the rules and the exposition.

Usage: served_metrics.py EXAMPLE FOLDER SCRAPED_PORT PROMETHEUS_PORT    FOLDER has the rules and the dashboard
"""
import json
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

EXAMPLE, FOLDER, SCRAPED, PROMETHEUS = sys.argv[1:]
REQUESTS, WORKERS, PATIENCE = 50, 6, 30
ALL = REQUESTS * WORKERS


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def ask(query: str) -> list[float]:
    """Returns the values that Prometheus has; an error of PromQL is an exception."""
    url = f"http://127.0.0.1:{PROMETHEUS}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    return [float(sample["value"][1]) for sample in json.loads(read(url))["data"]["result"]]


def wait_for(query: str, wanted: float) -> None:
    end = time.monotonic() + PATIENCE
    while (seen := ask(query)) != [wanted]:
        assert time.monotonic() < end, f"{query}: {seen} instead of {wanted}"
        time.sleep(0.1)


def promtool(*arguments: str, text: str = "") -> None:
    done = subprocess.run(["promtool", *arguments], input=text, cwd=FOLDER, encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0 and (arguments[0:2] != ("check", "metrics") or not done.stdout), done.stdout


def check_values() -> None:
    wait_for('lido_pool_acquires_total{pool="db"}', ALL)
    wait_for('lido_pool_slots{pool="jobs",state="used"}', 0)
    for query, wanted in {
        'lido_pool_max{pool="db",kind="resource_pool"}': 4,
        'lido_pool_max{pool="jobs",kind="object_pool"}': 64,
        'lido_pool_slots{pool="jobs",state="idle"}': 64,
        'sum by (pool) (lido_pool_slots{pool="db"})': 4,
        'lido_pool_creates_total{pool="db"}': 4,
        'lido_pool_create_time_seconds_count{pool="db"}': 4,
        'lido_pool_acquires_total{pool="db"}': ALL,
        'lido_pool_use_time_seconds_count{pool="db"}': ALL,
        'lido_pool_use_time_seconds_bucket{pool="db",le="0.001"}': 0,  # each lasts two milliseconds
        'lido_pool_use_time_seconds_bucket{pool="db",le="+Inf"}': ALL,
        'lido_pool_wait_time_seconds_count{pool="db"} == bool on() lido_pool_handed_over_total{pool="db"}': 1,
        'lido_pool_wait_time_seconds_count{pool="db"} > bool 0': 1,  # six workers, four connections
        'count(lido_pool_destroyed_total{pool="db"})': 10,
        'count(lido_pool_refills_total{pool="db"}) or vector(0)': 0,
    }.items():
        assert ask(query) == [wanted], f"{query}: {ask(query)} instead of {wanted}"
    (mean,) = ask('lido_pool_use_time_seconds_sum{pool="db"} / lido_pool_use_time_seconds_count')
    assert 0.002 <= mean < 1, mean


def check_files() -> None:
    promtool("check", "rules", "alerts.yml")
    promtool("test", "rules", "alerts_test.yml")
    promtool("check", "metrics", text=read(f"http://127.0.0.1:{SCRAPED}/metrics"))
    dashboard = json.loads((Path(FOLDER) / "dashboard.json").read_text(encoding="utf-8"))
    empty = []
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            query = target["expr"].replace("$__rate_interval", "1m")
            query = re.sub(r"\$(?:job|instance|pool)\b", ".*", query)
            assert "$" not in query, query
            empty += [] if ask(query) else [query]
    assert not empty, f"no values: {empty}"
    for variable in dashboard["templating"]["list"][1:]:  # the first is the data source
        (label,) = re.findall(r"^label_values\(lido_pool_max.*, (\w+)\)$", variable["query"])
        assert variable["name"] == label and ask(f'count(lido_pool_max{{{label}!=""}})') != [], variable


example = subprocess.Popen([EXAMPLE, SCRAPED, str(REQUESTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
try:
    check_values()
    check_files()
    last, _ = example.communicate(timeout=PATIENCE)
    assert example.returncode == 0 and re.search(rb"\ncapacity 4, .*acquires %d" % ALL, last), last
finally:
    example.kill()
    example.wait()
