"""Evaluates MODULE.bazel and BUILD.bazel, whose language is a part of Python, and does what they describe without Bazel.

Usage: bazel.py SOURCE LISTS               compares the files with LISTS, see lists.py
       bazel.py SOURCE LISTS BINARY CXX    builds the library in the folder BINARY
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from lists import compare, read

SYSTEMS = {"linux": "linux", "windows": "windows", "macos": "posix", "freebsd": "posix"}
source, lists = Path(sys.argv[1]), sys.argv[2]


def glob(include: list[str], exclude: list[str] | None = None) -> list[str]:
    def found(patterns: list[str]) -> set[str]:
        each = [{str(path.relative_to(source)) for path in source.glob(pattern) if path.is_file()} for pattern in patterns]
        for pattern, files in zip(patterns, each):
            if not files:
                sys.exit(f"BUILD.bazel: {pattern} matches no file")
        return set().union(*each)

    return sorted(found(include) - found(exclude or []))


def evaluate(name: str, **functions: object) -> None:
    names = {"glob": glob, "load": lambda *_: None, **functions}
    exec(compile((source / name).read_text(encoding="utf-8"), name, "exec"), names)


def library(system: str, cpu: str = "x86_64") -> dict[str, object]:
    """Returns the one rule of BUILD.bazel, as it is for this system and processor."""
    rules: list[dict[str, object]] = []

    def select(cases: dict[str, list[str]]) -> list[str]:
        keys = [f"@platforms//os:{system}", f"@platforms//cpu:{cpu}", "//conditions:default"]
        return next(cases[key] for key in keys if key in cases)

    evaluate("BUILD.bazel", select=select, cc_library=lambda **rule: rules.append(rule))
    (rule,) = rules
    return rule


def below(rule: dict[str, object], attribute: str, folder: str, suffix: str) -> set[str]:
    return {path.removeprefix(folder) for path in rule[attribute] if path.endswith(suffix)}


def build(rule: dict[str, object], binary: Path, compiler: str) -> None:
    """Builds as one unit, from a folder that has only the listed files, as Bazel's sandbox does."""
    shutil.rmtree(binary, ignore_errors=True)
    for path in [*rule["srcs"], *rule["hdrs"]]:
        (binary / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / path, binary / path)
    sources = [path for path in rule["srcs"] if path.endswith(".cpp")]
    (binary / "all.cpp").write_text("".join(f'#include "{path}"\n' for path in sources), encoding="utf-8")
    shutil.copyfile(source / "tests/package/lido_consumer.cpp", binary / "consumer.cpp")
    folders = [f"-isystem{folder}" for folder in rule["includes"]]
    launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split()
    for name in ("all", "consumer"):
        command = [*launcher, compiler, *rule["copts"], "-O0", *folders, "-c", f"{name}.cpp", "-o", f"{name}.o"]
        subprocess.run(command, cwd=binary, check=True)
    subprocess.run([compiler, "consumer.o", "all.o", *rule["linkopts"], "-o", "consumer"], cwd=binary, check=True)
    subprocess.run([binary / "consumer"], check=True)


def check_lists() -> None:
    modules: list[dict[str, str]] = []
    evaluate("MODULE.bazel", module=lambda **module: modules.append(module), bazel_dep=lambda name, version: None)
    if modules != [{"name": "lido"}]:
        sys.exit(f"MODULE.bazel: {modules}")
    for system, platform in SYSTEMS.items():
        rule = library(system)
        compare(f"sources of {system}", below(rule, "srcs", "src/", ".cpp"), read(lists, "all", platform))
        compare(f"headers of {system}", below(rule, "hdrs", "include/", ""), read(lists, "header"))
        if rule["target_compatible_with"]:
            sys.exit(f"BUILD.bazel: Lido is refused on {system}")
    if library("emscripten", "wasm32")["target_compatible_with"] != ["@platforms//:incompatible"]:
        sys.exit("BUILD.bazel: Lido is compiled by Emscripten, from the sources of another system")


if len(sys.argv) == 3:
    check_lists()
else:
    build(library("linux"), Path(sys.argv[3]), sys.argv[4])
