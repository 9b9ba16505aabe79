"""duplicates.py sees code that stands twice. Skipped where jscpd is not installed.

Usage: duplicates_test.py SOURCE
"""
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77
FUNCTION = "\n".join(["int sum(const int* values, int count) {", "  int all = 0;",
                      *(f"  all += values[{i}] * {i} - count / {i + 1};" for i in range(12)), "  return all;", "}", ""])


def main(source):
    checker = Path(__file__).with_name("duplicates.py")
    with tempfile.TemporaryDirectory() as folder:
        once, twice = Path(folder, "once"), Path(folder, "twice")
        for where, copies in ((once, ["a.cpp"]), (twice, ["a.cpp", "b.hpp"])):
            where.mkdir()
            for name in copies:
                (where / name).write_text(FUNCTION, encoding="utf-8")
        results = [subprocess.run([sys.executable, "-B", checker, source, where], capture_output=True).returncode
                   for where in (once, twice)]
    if results == [SKIPPED, SKIPPED]:
        return SKIPPED
    return 0 if results[0] == 0 and results[1] not in (0, SKIPPED) else f"found {results}, not none and some"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
