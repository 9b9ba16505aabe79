#!/usr/bin/env python3
"""The module exports each public name of its headers, and each that a reference page mentions.

usage: exports.py CLANG SOURCES [--forget NAME...]

The compiler lists the names that the headers declare in `lido` itself. Names that must not be exported are in
NOT_EXPORTED, with the reason. With --forget, names count as if the module did not export them.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

NOT_EXPORTED = {
    "detail": "internal",
    "operator==": "friends of their classes, found by these",
    "operator<=>": "friends of their classes, found by these",
    "swap": "friends of their classes, found by these",
    "body": "a parameter in a type of functions",
    "count": "a parameter in a type of functions",
    "executor": "a parameter in a type of functions",
}
# Names that other headers declare, mostly those of components; a module with them would need their libraries.
OF_OTHER_HEADERS = {
    "async_acquire", "async_close", "async_try_acquire", "async_with", "boost_list", "par", "pool_collector",
    "redis_factory", "trace",
}


def declared(clang: str, include: Path, headers: list[str]) -> set[str]:
    """Returns names that headers declare in the namespace itself, without its inline namespace. Excludes template
    parameters, which begin with a capital."""
    text = "".join(f"#include {header}\n" for header in headers)
    listed = subprocess.run(
        [clang, "-std=c++20", f"-I{include}", "-fsyntax-only", "-x", "c++", "-Xclang", "-ast-list",
         "-Xclang", "-ast-dump-filter=lido::", "-"], input=text, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^lido::((?!v\d)[a-z_]\w*|operator[^\w\s]+)$", listed, re.M))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("clang")
    parser.add_argument("sources", type=Path)
    parser.add_argument("--forget", nargs="*", default=[])
    arguments = parser.parse_args()
    root = arguments.sources

    module = (root / "src/lido.cppm").read_text(encoding="utf-8")
    exported = set(re.findall(r"^using lido::(\S+);$", module, re.M)) - set(arguments.forget)
    names = declared(arguments.clang, root / "include", re.findall(r"^#include (<lido/.*>)$", module, re.M))
    if len(names) < 50:
        sys.exit(f"exports: {arguments.clang} lists {len(names)} names")
    components = (root / "cmake/components.cmake").read_text(encoding="utf-8")
    targets = {"lido", "c", "module", *re.search(r"set\(lido_all_components ([^)]+)\)", components)[1].split()}
    mentioned = {name for page in (root / "docs/reference").glob("*.md")
                 for name in re.findall(r"\blido::([a-z_]+)", page.read_text(encoding="utf-8"))}

    errors = [f"src/lido.cppm does not export {name}, which its headers declare"
              for name in sorted(names - exported - NOT_EXPORTED.keys())]
    errors += [f"src/lido.cppm does not export {name}, which a reference page mentions"
               for name in sorted(mentioned - names - exported - targets - OF_OTHER_HEADERS)]
    errors += [f"exports.py: {name} needs no exception" for name in sorted(
        (NOT_EXPORTED.keys() & exported) | (NOT_EXPORTED.keys() - names) | (OF_OTHER_HEADERS - mentioned))]
    print("\n".join(errors) or f"exports: {len(exported)} names")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
