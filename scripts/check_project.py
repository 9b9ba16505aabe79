#!/usr/bin/env python3
"""Version, address and names are the same everywhere, and none is invented.

 * A literal version equals include/lido/version.hpp, and stands in a file of VERSIONS.
 * `lido::v0`, also mangled, has the number LIDO_ABI_VERSION, and sources declare nothing outside it.
 * Addresses in the web are those of SITES and the one in cmake/project.json; mail addresses are the contact there.
 * The author of everything is "The Lido developers".
 * Blocks between `<!-- address -->` and `<!-- /address -->`, or with `contact`, say what cmake/project.json says; so do
   the manifests of MANIFESTS.

Usage: check_project.py [--write] [folder]    --write renders the blocks and manifests
"""
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from check_common import ROOT, files_below, is_cpp, line_of, run

HEADER = "include/lido/version.hpp"
PROJECT = "cmake/project.json"
AUTHOR = "The Lido developers"

# Files whose form forces a literal, and where it stands in them.
VERSIONS = {
    "CITATION.cff": r"^version: (\S+)$",
    "cmake/vcpkg/lido/vcpkg.json": r'^  "version(?:-semver)?": "([^"]+)"',
}
WANTED = re.compile(r"\bfind_package\(lido (\d+\.\d+)\b")

NAMESPACE = re.compile(r"\blido::(?:inline )?v(\d+)\b|4lido(?:2v(\d)|3v(\d\d))")
OUTSIDE = re.compile(r"^\s*(?:export )?namespace lido(?!::inline v\d)\b.*", re.M)

# What may be linked. A site that is added here was looked at by a person.
SITES = ("127.0.0.1", "localhost", "example.org", "github.com/brettwooldridge/HikariCP", "keepachangelog.com",
         "schemas.microsoft.com", "semver.org", "ui.perfetto.dev", "www.debian.org/doc", "www.w3.org")
LINK = re.compile(r"\b(?:https?|git|ssh)://([^\s)\"'<>`]+)|\bgit@([\w.-]+:[^\s)\"'<>`]+)|"
                  r"\b((?:github|gitlab|bitbucket|codeberg)\.\w+/[^\s)\"'<>`]+)")
MAIL = re.compile(r"(?<![\w/:])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}\b")
RESERVED = re.compile(r"(?:^|[.@])[\w-]*\.?(?:invalid|example|your\.domain)(?:[/:]|$)")  # names that can have no owner
NAMED = re.compile(r"^\W*(?:authors?|maintainers?|uploaders|publisher|vendor|contact|copyright)\b['\"]?\s*[:=]\s*(.*)|"
                   r"\bCPACK_\w*(?:VENDOR|CONTACT|MAINTAINER)\s+(.*?)\)?$|^\W*((?:given|family)-names):.*", re.M | re.I)
SETTINGS = {".cff", ".json", ".py", ".cmake", ".txt", ".in", ".bazel", ".build", ".toml", ".yml", ".yaml", ".pc", ""}

# Files that name the address once there is one: by what line, and before which.
MANIFESTS = {
    "CITATION.cff": ("repository-code: {}\n", "license: "),
    "cmake/vcpkg/lido/vcpkg.json": ('  "homepage": "{}",\n', '  "license": '),
    "conanfile.py": ('    homepage = "{}"\n', "    license = "),
}
BLOCK = re.compile(r"(<!-- (address|contact) -->\n).*?(<!-- /\2 -->)", re.S)
EMPTY = {
    "address": "Lido has no public address yet: `LIDO_URL` stands for the absolute path of a clone.",
    "contact": "Lido has no contact yet. Report it privately to the person you got Lido from, and do not publish it.",
}
FILLED = {"address": "`LIDO_URL` stands for <{}>.", "contact": "Write to <{}>, and do not publish it before there is an answer."}


def numbers(root: Path) -> dict[str, str]:
    """The macros of the version's header."""
    return dict(re.findall(r"^#define LIDO_(\w+) (\d+)$", (root / HEADER).read_text(encoding="utf-8"), re.M))


def texts(root: Path) -> Iterator[tuple[str, str]]:
    for path in files_below(root, ["."], lambda path: True):
        try:
            yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            pass


def check_version(name: str, text: str, version: str) -> list[str]:
    errors = []
    if name in VERSIONS:
        found = re.search(VERSIONS[name], text, re.M)
        if not found or found[1] != version:
            errors.append(f"{name}: states version {found[1] if found else 'nowhere'}; {HEADER} says {version}")
    elif not name.startswith("tests/") and not name.endswith(".md") and name != HEADER:
        errors += [f"{name}:{line_of(text, match.start())}: a version that no check compares; see VERSIONS"
                   for match in re.finditer(rf"(?<![\w.@-]){re.escape(version)}(?![\w.-])", text)]
    errors += [f"{name}:{line_of(text, match.start())}: {match[0]}; {HEADER} says {version}"
               for match in WANTED.finditer(text) if not version.startswith(match[1] + ".")]
    return errors


def check_namespace(name: str, text: str, abi: str) -> list[str]:
    errors = [f"{name}:{line_of(text, match.start())}: {match[0]}; LIDO_ABI_VERSION is {abi}"
              for match in NAMESPACE.finditer(text) if next(filter(None, match.groups())) != abi]
    if is_cpp(Path(name)) and name.startswith(("include/", "src/")):
        errors += [f"{name}:{line_of(text, match.end())}: {match[0].strip()} lacks inline v{abi}"
                   for match in OUTSIDE.finditer(text)]
    return errors


def check_addresses(name: str, text: str, project: dict[str, str]) -> list[str]:
    errors = []
    for match in LINK.finditer(text):
        target = match[1] or match[2] or match[3]
        host = target.split("@")[-1]
        known = (re.sub("[:#?]", "/", host) + "/").startswith(tuple(site + "/" for site in SITES))
        if not (known or host[:1] in ("$", "{", "%") or RESERVED.search(re.split("[/:]", host)[0])
                or (project["address"] and match[0].startswith(project["address"]))):
            errors.append(f"{name}:{line_of(text, match.start())}: {match[0]} is no address of {PROJECT}, nor in SITES")
    for match in MAIL.finditer(text):
        if not (RESERVED.search(match[0]) or match[0] == project["contact"]):
            errors.append(f"{name}:{line_of(text, match.start())}: {match[0]} is not the contact in {PROJECT}")
    return errors


def check_names(name: str, text: str) -> list[str]:
    if Path(name).suffix not in SETTINGS or name.startswith("tests/house/"):
        return []
    errors = []
    for match in NAMED.finditer(text):
        value = (match[1] or match[2] or "").strip(" ,\"'[]")
        if match[3] or (value and AUTHOR not in value and not value.startswith(("$", "@", "{")) and ".invalid" not in value):
            errors.append(f"{name}:{line_of(text, match.end())}: {match[0].strip()} is not {AUTHOR}")
    return errors


def rendered(name: str, text: str, project: dict[str, str]) -> str:
    def say(match: re.Match[str]) -> str:
        value = project[match[2]]
        return match[1] + (FILLED[match[2]].format(value) if value else EMPTY[match[2]]) + "\n" + match[3]

    if name in MANIFESTS:
        line, following = MANIFESTS[name]
        text = re.sub(f"^{line.split('{')[0]}.*\n", "", text, flags=re.M)
        new = line.format(project["address"]) if project["address"] else ""
        return re.sub(f"^{following}", lambda match: new + match[0], text, count=1, flags=re.M)
    return BLOCK.sub(say, text) if name.endswith(".md") else text


def check(root: Path) -> tuple[int, list[str]]:
    macros = numbers(root)
    version = ".".join(macros[f"VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH"))
    project = json.loads((root / PROJECT).read_text(encoding="utf-8"))
    errors = []
    count = 0
    for name, text in texts(root):
        count += 1
        if name in ("scripts/check_project.py", "tests/house/project_test.py"):
            continue  # they have the faults
        errors += check_version(name, text, version) + check_namespace(name, text, macros["ABI_VERSION"])
        errors += check_addresses(name, text, project) + check_names(name, text)
        if rendered(name, text, project) != text:
            errors.append(f"{name}: differs from {PROJECT}; scripts/check_project.py --write renders it")
    return count, errors


def write(root: Path) -> None:
    project = json.loads((root / PROJECT).read_text(encoding="utf-8"))
    for name, text in texts(root):
        if (new := rendered(name, text, project)) != text:
            (root / name).write_text(new, encoding="utf-8")
            print(f"project: wrote {name}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else ROOT)
    else:
        sys.exit(run("project", check))
