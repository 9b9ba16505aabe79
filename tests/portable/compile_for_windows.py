#!/usr/bin/env python3
"""Compiles all headers and sources for Windows after a windows.h with all of its macros.

It uses Clang with MinGW's headers, as one translation unit and without output. Files that need another library are left
out, and so are sockets. With --as-cl the code takes the branches for cl, as far as Clang can parse them. Clang does not
know cl's attributes, and cl's own messages remain unknown.

usage: compile_for_windows.py CLANG MINGW [--as-cl] [--expect-refused]
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
STANDARD = re.compile(r"[a-z_]+")
# Other libraries, even if a macro names them, and sockets.
FOREIGN = re.compile(r"<(?:boost|asio|tbb|oneapi|fmt|prometheus|hiredis)/|<(?:libpq-fe|netdb|poll)\.h>")

# The standard library comes first, since GCC's requires a windows.h without min and max. Its mutex is no constant here;
# MSVC's is.
BEFORE = """#include <bits/c++config.h>
#include <bits/gthr.h>
#define __GTHREAD_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
{standard}
#undef NOMINMAX
#include <windows.h>
#ifndef min
#define min(a, b) (((a) < (b)) ? (a) : (b))
#endif
#ifndef max
#define max(a, b) (((a) > (b)) ? (a) : (b))
#endif
#ifndef small
#define small char
#endif
#if !defined(far) || !defined(interface) || !defined(ERROR) || !defined(IN) || !defined(OUT)
#error "windows.h lacks macros that this test is about"
#endif
"""
# The headers that windows.h includes have declared the intrinsics, except one.
AS_CL = """#define __INTRIN_H
extern "C" void* _AddressOfReturnAddress();
#undef __clang__
#undef __GNUC__
#define _MSC_VER 1940
"""
# One fault per line; Clang must report each.
FAULTS = """int a = std::min(1, 2);
int b = std::numeric_limits<int>::max();
enum class call { interface };
[[nodiscard, gnu::no_such_attribute]] int c();
int d[[gnu::always_inline]];
"""


def reached(file: Path) -> set[Path]:
    """Returns the file and all of Lido's files that it includes."""
    found: set[Path] = set()
    left = [file]
    while left:
        each = left.pop()
        if each in found or not each.exists():
            continue
        found.add(each)
        for match in INCLUDE.finditer(each.read_text(encoding="utf-8")):
            if match[2].startswith("lido/"):
                left.append(ROOT / "include" / match[2])
            elif match[1] == '"':
                left.append((each.parent / match[2]).resolve())
    return found


def units() -> list[Path]:
    """Returns all headers, then all sources, with those of one system: Windows, or those for any system."""
    platform = ROOT / "src/platform/windows"
    if not platform.is_dir():
        platform = ROOT / "src/platform/generic"
    sources = [f for f in sorted((ROOT / "src").rglob("*.cpp"))
               if not f.is_relative_to(ROOT / "src/platform") or f.is_relative_to(platform)]
    files = sorted((ROOT / "include").rglob("*.hpp")) + sources
    return [f for f in files if not any(FOREIGN.search(each.read_text(encoding="utf-8")) for each in reached(f))]


def text_of(files: list[Path], as_cl: bool) -> str:
    standard = {match[2] for file in files for match in INCLUDE.finditer(file.read_text(encoding="utf-8"))
                if match[1] == "<" and STANDARD.fullmatch(match[2])}
    text = BEFORE.format(standard="\n".join(f"#include <{name}>" for name in sorted(standard)))
    return text + (AS_CL if as_cl else "") + "".join(f'#include "{file}"\n' for file in files)


def command(clang: str, mingw: str, as_cl: bool) -> list[str]:
    said = subprocess.run([mingw, "-xc++", "-E", "-v", "/dev/null"], capture_output=True, text=True, check=True).stderr
    folders = [line.strip() for line in said.split("search starts here:")[-1].split("\n") if "/c++" in line]
    result = [clang, "--target=x86_64-w64-mingw32", "-std=c++20", "-fsyntax-only", "-fms-extensions", "-ferror-limit=0",
              "-fno-caret-diagnostics", "-Wall", "-Wextra", "-Wunknown-attributes", "-Werror", "-nostdinc++"]
    result += [part for folder in folders for part in ("-isystem", folder)]
    if as_cl:
        result += ["-Wno-unknown-attributes", "-Wno-ignored-pragmas", "-Wno-unknown-pragmas", "-Wno-ignored-attributes", "-Wno-builtin-macro-redefined"]
    return [*result, f"-I{ROOT}/include", f"-I{ROOT}/src", "-xc++", "-"]


def missed_faults(text: str, said: str) -> list[str]:
    first = text.count("\n") + 1
    return [fault for number, fault in enumerate(FAULTS.splitlines(), first) if f"<stdin>:{number}:" not in said]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("clang")
    parser.add_argument("mingw")
    parser.add_argument("--as-cl", action="store_true")
    parser.add_argument("--expect-refused", action="store_true", help="compile seeded faults behind one header")
    arguments = parser.parse_args()
    for program, package in ((arguments.clang, "clang"), (arguments.mingw, "g++-mingw-w64-x86-64-posix")):
        if not program or program.endswith("NOTFOUND"):
            print(f"skipped: {package} is not installed, so nothing here knows Windows's headers")
            return SKIPPED
    files = [ROOT / "src/base/segment_plan.hpp"] if arguments.expect_refused else units()
    text = text_of(files, arguments.as_cl)
    faults = ""
    if arguments.expect_refused:
        faults = FAULTS
    compiled = subprocess.run(command(arguments.clang, arguments.mingw, arguments.as_cl), input=text + faults,
                              capture_output=True, text=True, check=False)
    if arguments.expect_refused:
        missed = missed_faults(text, compiled.stderr)
        print("\n".join(f"not refused: {fault}" for fault in missed) or "all faults are refused")
        return 1 if missed or compiled.returncode == 0 else 0
    print(compiled.stderr + f"{len(files)} headers and sources")
    return compiled.returncode


if __name__ == "__main__":
    sys.exit(main())
