"""What it costs to include lido/resource_pool.hpp, beside the standard headers that its users include anyway.

Processor time of the compiler, the best of five, measured in turns. The bound leaves room for the noise of a busy
machine; <functional>, <algorithm> and all of <chrono> once more would exceed it.

    include_cost_test.py COMPILER [INCLUDE_DIRECTORY]
"""
import pathlib
import resource
import subprocess
import sys

MOST = 1.7
STANDARD = "#include <vector>\n#include <mutex>\n#include <string>\n#include <thread>\n"
OURS = "#include <lido/resource_pool.hpp>\n"


def cost(compiler, include, text):
    """CPU seconds to compile a file with that text."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [compiler, "-std=c++20", "-I", include, "-x", "c++", "-c", "-", "-o", "/dev/null"]
    subprocess.run(command, input=text, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    compiler = sys.argv[1]
    include = sys.argv[2] if len(sys.argv) > 2 else str(root / "include")
    rounds = [(cost(compiler, include, STANDARD), cost(compiler, include, OURS)) for _ in range(5)]
    standard, ours = (min(times) for times in zip(*rounds))
    print(f"standard headers {standard:.2f} s, lido/resource_pool.hpp {ours:.2f} s: {ours / standard:.2f} x")
    return 0 if ours <= MOST * standard else f"it may take {MOST} x"


if __name__ == "__main__":
    sys.exit(main())
