#!/usr/bin/env python3
"""Writes Lido as one header: `scripts/amalgamate.py FILE`, where FILE is usually lido_all.hpp.

One source file of a program defines LIDO_IMPLEMENTATION before it includes FILE; the others only include it. The list
of sources is that of src/CMakeLists.txt, and cmake/platform.cmake says which of src/platform serve which system.
Needs CMake, but neither git nor a build.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENTRIES = ["lido/lido.h", "lido/lido.hpp", "lido/slot_map/secondary_map.hpp"]
LEFT_OUT = ["connect/"]  # for components, which need another library

# Systems as cmake/options.cmake tells them apart: LIDO_PLATFORM there, and the test of the preprocessor.
SYSTEMS = [
    ("windows", "defined(_WIN32)"),
    ("linux", "defined(__linux__) && !defined(__ANDROID__)"),
    ("posix", "defined(__unix__) || defined(__APPLE__) || defined(__EMSCRIPTEN__)"),
    ("generic", None),
]
# Of a platform, what else changes its list: a variable of CMake, or none, and the test.
VARIANTS = [(name, "", f"defined(LIDO_PLATFORM_{name.upper()})") for name, _ in SYSTEMS if name != "posix"] + [
    ("posix", "", "defined(LIDO_PLATFORM_POSIX) && !defined(__EMSCRIPTEN__)"),
    ("posix", "EMSCRIPTEN", "defined(LIDO_PLATFORM_POSIX) && defined(__EMSCRIPTEN__)"),
]

DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif|include|define|pragma)\b\s*(.*?)\s*(?://.*)?$")
OWN_MACRO = re.compile(r"LIDO_|(NOMINMAX|WIN32_LEAN_AND_MEAN)\b")

HOW_TO = """\
Lido {version}, in one header, which scripts/amalgamate.py of Lido has written.

In one source file of each program or shared object, best in one with nothing else:

    #define LIDO_IMPLEMENTATION
    #include "{name}"

Wherever pools are used:

    #include "{name}"

The compiler needs C++20 and -pthread. A shared object is linked with -Wl,-z,nodelete, since threads that end later
still run this code; with MinGW, a program is linked with -lsynchronization -lntdll. All files of a program are compiled
with exceptions, or all without. A pool may be used only by the program or shared object that made it.

LIDO_PLATFORM_POSIX or LIDO_PLATFORM_GENERIC, defined beside LIDO_IMPLEMENTATION, takes another back end than the
system's own.
"""


class OneHeader:
    """Text of files, each in the place where it is first included."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.conditions: list[str] = []  # of the blocks around the next line
        self.given: dict[str, list[set[str]]] = {}  # conditions under which a file was included

    def is_given(self, name: str) -> bool:
        """Notes that a file is included here. Returns whether it was there already, whenever this line is compiled."""
        now = set(self.conditions)
        ways = self.given.setdefault(name, [])
        if any(way <= now for way in ways):
            return True
        ways.append(now)
        return False

    def follow(self, word: str, rest: str) -> None:
        """Goes into a block of the preprocessor, on to its next branch, or out of it."""
        if word in ("if", "ifdef", "ifndef"):
            self.conditions.append(rest if word == "if" else f"{word} {rest}")
        elif word in ("elif", "else"):
            self.conditions.append(f"not ({self.conditions.pop()}) {rest}")
        elif word == "endif":
            self.conditions.pop()

    def add_line(self, line: str, file: Path) -> None:
        found = DIRECTIVE.match(line)
        word, rest = (found[1], found[2]) if found else ("", "")
        self.follow(word, rest)
        if word == "include" and rest[0] == '"':
            beside = file.parent / rest.strip('"')
            self.add(beside if beside.exists() else ROOT / "include" / rest.strip('"'))
            return
        if word == "include" and rest[0] == "<" and self.is_given(rest):
            return
        if word == "define" and not OWN_MACRO.match(rest):
            raise SystemExit(f"{file}: the macro {rest} would be one of its user's file, too")
        if not (word == "pragma" and rest == "once" or line == "/// @file"):
            self.lines.append(line)

    def add(self, file: Path) -> None:
        name = file.resolve().relative_to(ROOT).as_posix()
        again = name in self.given
        if self.is_given(name):
            return
        # One that is here several times, each for other systems, is compiled once.
        guarded = again or bool(self.conditions)
        guard = "LIDO_HAS_" + re.sub(r"\W", "_", name).upper()
        self.lines += [f"// ==== {name}"] + [f"#ifndef {guard}", f"#define {guard}"] * guarded
        for line in file.read_text(encoding="utf-8").splitlines():
            self.add_line(line, file)
        self.lines += ["#endif"] * guarded + [""]

    def add_all(self, condition: str, files: list[Path]) -> None:
        """Files that are compiled if `condition` holds, or always if it is empty."""
        if condition:
            self.add_line(f"#if {condition}", ROOT)
        for file in files:
            self.add(file)
        if condition:
            self.add_line("#endif", ROOT)


def platform_sources() -> dict[str, list[Path]]:
    """Sources of the platforms, as CMake tells them; for each test of the preprocessor those that it alone decides."""
    questions = [f'include("{ROOT.as_posix()}/cmake/platform.cmake")']
    for platform, variable, _ in VARIANTS:
        questions += [f"set({variable} ON)"] * bool(variable)
        questions += [f"lido_platform_sources(sources {platform})", 'message("${sources}")']
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "sources.cmake")
        script.write_text("\n".join(questions), encoding="utf-8")
        try:
            told = subprocess.run(["cmake", "-P", str(script)], stderr=subprocess.PIPE, text=True)
        except FileNotFoundError:
            raise SystemExit("cmake is missing, which knows the sources of each system") from None
    if told.returncode != 0:
        raise SystemExit(told.stderr)
    tests: dict[str, list[str]] = {}
    for (_, _, test), sources in zip(VARIANTS, told.stderr.splitlines(), strict=True):
        for source in sources.split(";"):
            tests.setdefault(source, []).append(test)
    found: dict[str, list[Path]] = {}
    for source, needed in tests.items():
        test = "" if len(needed) == len(VARIANTS) else " || ".join(sorted(needed))
        found.setdefault(test, []).append(ROOT / "src" / f"{source}.cpp")
    return found


def library_sources() -> list[tuple[str, list[Path]]]:
    """Other sources of the library, and the test of the standard library that decides whether they are compiled."""
    text = (ROOT / "src/CMakeLists.txt").read_text(encoding="utf-8")
    tests = {name: test.replace("\\", "") for name, test in re.findall(r"lido_check_library\((LIDO_\w+) (.+)\)\n", text)}
    tests[""] = ""
    found = []
    for option, sources in re.findall(r"(?:if\((\w+)\)\s+)?target_sources\(\s*lido\s+PRIVATE\s+([\w/.\s]+)\)", text):
        kept = [name for name in sources.split() if not name.startswith(tuple(LEFT_OUT))]
        found.append((tests[option], [ROOT / "src" / name for name in kept]))
    return found


def choose_system() -> list[str]:
    """Lines that define the LIDO_PLATFORM of the system, unless the user has defined one."""
    chosen = " && ".join(f"!defined(LIDO_PLATFORM_{name.upper()})" for name, _ in SYSTEMS)
    lines = [f"#if {chosen}"]
    for name, test in SYSTEMS:
        lines += [f"#{'if' if name == SYSTEMS[0][0] else 'elif'} {test}" if test else "#else",
                  f"#define LIDO_PLATFORM_{name.upper()}"]
    return [*lines, "#endif", "#endif"]


def version() -> str:
    text = (ROOT / "include/lido/version.hpp").read_text(encoding="utf-8")
    return ".".join(re.search(rf"LIDO_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def one_header(name: str) -> str:
    header = OneHeader()
    top = HOW_TO.format(version=version(), name=name) + "\n" + (ROOT / "LICENSE").read_text(encoding="utf-8")
    header.lines += [f"// {line}".rstrip() for line in top.splitlines()]
    header.lines += ["#ifndef LIDO_ALL_HPP", "#define LIDO_ALL_HPP",
                     "#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L",
                     '#error "Lido needs C++20: -std=c++20, or /std:c++20"', "#endif", ""]
    header.add_all("", [ROOT / "include" / entry for entry in ENTRIES])
    header.lines += ["#endif  // LIDO_ALL_HPP", "",
                     "#if defined(LIDO_IMPLEMENTATION) && !defined(LIDO_IMPLEMENTED)", "#define LIDO_IMPLEMENTED",
                     *choose_system(), ""]
    for test, sources in sorted(platform_sources().items()):
        header.add_all(test, sources)
    for test, sources in library_sources():
        header.add_all(test, sources)
    return "\n".join([*header.lines, "#endif  // LIDO_IMPLEMENTATION", ""])


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: scripts/amalgamate.py FILE")
    try:
        Path(sys.argv[1]).write_text(one_header(Path(sys.argv[1]).name), encoding="utf-8")
    except OSError as error:
        sys.exit(f"amalgamate: {error}")
