"""Receives what the example sends as a StatsD agent does, and adds it up.

Usage: statsd.py EXAMPLE
"""
import re
import socket
import subprocess
import sys

USES = 32  # of each of two rounds
LINE = re.compile(r"db\.client\.connection\.(?P<name>\w+):(?P<value>\d+)\|(?P<type>g|c|ms)(?:\|@(?P<rate>0\.\d+|1\.0+))?"
                  r"\|#db\.client\.connection\.pool\.name:(?P<pool>[^|,:#@]+),number:\d+"
                  r"(?:,db\.client\.connection\.state:(?P<state>idle|used))?")


def samples(datagram: bytes) -> list[dict[str, str]]:
    text = datagram.decode()
    assert len(datagram) < 8192 and text.endswith("\n"), text
    found = []
    for line in text.splitlines():
        match = LINE.fullmatch(line)
        assert match, f"no line of StatsD: {line}"
        found.append(match.groupdict())
    return found


def gauge(of: list[dict[str, str]], name: str, state: str | None = None) -> int:
    (value,) = [int(one["value"]) for one in of if (one["name"], one["type"], one["state"]) == (name, "g", state)]
    return value


def times(of: list[dict[str, str]], name: str) -> list[int]:
    """The times, each as often as its rate says."""
    rows = [one for one in of if one["name"] == name]
    assert all(one["type"] == "ms" for one in rows), rows
    return [int(one["value"]) for one in rows for _ in range(round(1 / float(one["rate"])))]


def check_round(number: int, jobs: list[dict[str, str]], db: list[dict[str, str]]) -> None:
    assert {one["pool"] for one in jobs} == {"jobs_a_b"} and {one["pool"] for one in db} == {"db"}
    assert (gauge(jobs, "max"), gauge(jobs, "count", "idle"), gauge(jobs, "count", "used")) == (64, 64, 0)
    assert (gauge(db, "max"), gauge(db, "count", "idle"), gauge(db, "count", "used")) == (2, 2, 0)
    assert gauge(db, "pending_requests") == 0
    assert [int(one["value"]) for one in db if one["name"] == "timeouts" and one["type"] == "c"] == [1]
    uses = times(db, "use_time")
    assert len(uses) == USES and sum(use >= 5 for use in uses) >= 30, uses  # thirty take three milliseconds or more
    assert len(times(db, "create_time")) == (2 if number == 0 else 0)


with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as agent:
    agent.bind(("127.0.0.1", 0))
    agent.settimeout(20)
    subprocess.run([sys.argv[1], str(agent.getsockname()[1])], check=True, timeout=60)
    for one in range(2):
        check_round(one, samples(agent.recv(65536)), samples(agent.recv(65536)))
subprocess.run([sys.argv[1], "9"], check=True, timeout=60)  # where no agent listens
