"""What it costs to include the two main headers, beside the standard headers that their users include anyway.

Processor time of the compiler, the best of five, measured in turns; on a busy machine of more. One more of
<functional>, <algorithm> and all of <chrono> would exceed a bound. Of the second bound, <memory>, <variant> and
<coroutine> take 0.14: with GCC 12 the header costs 1.40 to 1.42, with Clang 14 1.35.

    include_cost_test.py COMPILER [INCLUDE_DIRECTORY]
"""
import pathlib
import resource
import subprocess
import sys

TURNS, MOST_TURNS = 5, 25
MOST = {"lido/object_pool.hpp": 1.1, "lido/resource_pool.hpp": 1.45}
STANDARD = "#include <vector>\n#include <mutex>\n#include <string>\n#include <thread>\n"


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
    texts = {"standard headers": STANDARD} | {header: f"#include <{header}>\n" for header in MOST}
    best = dict.fromkeys(texts, float("inf"))
    for turn in range(MOST_TURNS):
        best = {name: min(best[name], cost(compiler, include, text)) for name, text in texts.items()}
        if turn + 1 >= TURNS and not slow(best):
            break
    for name, seconds in best.items():
        print(f"{name}: {seconds:.2f} s, {seconds / best['standard headers']:.2f} x")
    return "; ".join(slow(best)) or 0


def slow(best):
    """Headers that take longer than they may."""
    return [f"{header} may take {most} x" for header, most in MOST.items()
            if best[header] > most * best["standard headers"]]


if __name__ == "__main__":
    sys.exit(main())
