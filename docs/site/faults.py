#!/usr/bin/env python3
"""Finds faults in the pages of the API reference.

usage: faults.py XML PAGES    XML: what Doxygen wrote; PAGES: the folder of the API among the pages of the site

Compares each declaration on a page with what Doxygen read from the headers. Returns 1 if there is a fault.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

KEYWORDS = "constexpr|static|explicit|virtual|friend|inline|const|noexcept"
FENCE = re.compile(r"^```cpp\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INCLUDE = Path(__file__).resolve().parents[2] / "include"
PAIRS = {")": "(", "]": "["}


def unbalanced(text):
    """Returns true if brackets do not match. A smaller-than sign is no bracket in a text."""
    opened = []
    for letter in text:
        if letter in PAIRS.values():
            opened.append(letter)
        elif letter in PAIRS and (not opened or opened.pop() != PAIRS[letter]):
            return True
    return bool(opened)


def faults_of_text(page):
    """Finds brackets that do not match, in code spans and around them: signs of a link that swallowed text."""
    for line in FENCE.sub("", page).splitlines():
        spans = re.findall(r"`([^`]+)`", line)
        rest = re.sub(r"`[^`]+`", "", re.sub(r"^(#+ ).*", r"\1", line))
        for part in [*spans, rest]:
            if unbalanced(part):
                yield f"brackets do not match: {line}"
                break


def faults_of_code(page):
    for code in FENCE.findall(page):
        for line in code.splitlines():
            words = re.findall(r"\w+", re.sub(r"\(.*", "", line))
            for word in set(words):
                if re.fullmatch(KEYWORDS, word) and words.count(word) > 1 and not (word == "const" and "*" in line):
                    yield f"{word} twice: {line}"
        if re.search(r"\bdetail(_\w+)?::", code):
            yield f"internal name: {code.strip()}"


def sections(page):
    """Returns for each heading of a member the declarations and the text below it."""
    for name, body in re.findall(r"^### (.+?) \{#[^}]+\}\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE):
        yield name.replace("&lt;", "<"), "".join(FENCE.findall(body)), FENCE.sub("", body).strip()


def members(xml):
    """Returns the public functions of each page: name, condition of noexcept, whether it is a template or documented."""
    templates, found = set(), {}
    roots = [ElementTree.parse(file).getroot().find("compounddef") for file in sorted(xml.glob("*.xml"))]
    for member in [each for root in roots if root is not None for each in root.iter("memberdef")]:
        names = [each.findtext("declname") or each.findtext("type") for each in member.findall("templateparamlist/param")]
        if set(names) - {"class"}:  # a parameter without a name only delays a check
            templates.add(member.get("id"))
    for root in roots:
        if root is None or root.get("kind") not in ("class", "struct", "namespace"):
            continue
        page = root.findtext("compoundname").replace("::", "-")
        for member in root.iter("memberdef"):
            if member.get("prot") != "public" or member.get("kind") not in ("function", "friend"):
                continue
            signature = member.findtext("argsstring") or ""
            documented = any("".join(member.find(each).itertext()).strip() for each in ("briefdescription", "detaileddescription"))
            if not re.search(r"=\s*delete$", signature):
                found.setdefault((page, member.findtext("name")), []).append((re.search(r"\bnoexcept\b(?!\()", signature) is not None,
                                                                              member.get("id") in templates, documented))
    return found


def faults_of_functions(name, page, functions):
    shown = {}
    for title, code, text in sections(page):
        shown.setdefault(title, []).append((code, text))
    for title, all_of in shown.items():
        known = functions.get((name, title))
        if known is None:
            continue
        bare = sum(re.search(r"\bnoexcept\b(?!\()", code) is not None for code, _ in all_of)
        # A pool without keys fulfils the condition of what it shares with the view of a key.
        if bare > sum(each[0] for each in known) and name != "lido-resource_pool":
            yield f"{title}: noexcept without its condition"
        if sum("template" not in code for code, _ in all_of) > sum(not each[1] for each in known):
            yield f"{title}: without its template parameters"
        if sum(not text for _, text in all_of) > sum(not each[2] for each in known):
            yield f"{title}: without its comment"


def reach(header, seen):
    """Adds to `seen` the headers of Lido that this header includes, and itself."""
    if header not in seen and (INCLUDE / header).exists():
        seen.add(header)
        for inner in re.findall(r'^ *# *include "(lido/[^"]+)"', (INCLUDE / header).read_text(), re.MULTILINE):
            reach(inner, seen)
    return seen


def homes(xml):
    """Returns for each type the header that defines it, and the headers of the classes that have it as a member or parameter."""
    headers, users = {}, {}
    for file in sorted(xml.glob("*.xml")):
        root = ElementTree.parse(file).getroot().find("compounddef")
        if root is None or root.get("kind") not in ("class", "struct", "concept"):
            continue
        headers[file.stem] = root.find("location").get("file").removeprefix("include/")
        members = root.findall("sectiondef/memberdef[@prot='public']")
        for ref in [ref for member in members for kind in ("type//ref", "param/type//ref") for ref in member.iterfind(kind)]:
            if ref.get("refid") != file.stem and ref.get("kindref") == "compound":
                users.setdefault(ref.get("refid"), set()).add(headers[file.stem])
    names = {file.stem: ElementTree.parse(file).getroot().findtext("compounddef/compoundname") for file in map(lambda each: xml / f"{each}.xml", headers)}
    return {names[each].replace("::", "-"): (header, users.get(each, set())) for each, header in headers.items()}


def faults_of_include(page, home):
    """Finds an include that is internal, that lacks the type, or after which no class of its folder that uses the type is complete."""
    found = re.search(r"^# .*\n+```cpp\n#include <(lido/\S+)>", page, re.MULTILINE)
    if found is None or home is None:
        return
    header, users = home[0], {user for user in home[1] if Path(user).parent == Path(home[0]).parent}
    reached = reach(found[1], set())
    if header not in reached or found[1].count("/") > 1 and header != "lido/freelist/index_list.hpp":
        yield f"{found[1]} does not declare it"
    elif users and not users & reached:
        yield f"{found[1]} lacks the classes that use it"


def main():
    xml, folder = Path(sys.argv[1]), Path(sys.argv[2])
    known = homes(xml)
    functions, faults = members(xml), []
    for file in sorted(folder.glob("lido*.md")):
        page = file.read_text()
        found = [*faults_of_text(page), *faults_of_code(page), *faults_of_functions(file.stem, page, functions),
                 *faults_of_include(page, known.get(file.stem))]
        title = re.search(r"^# .*\n+(```cpp\n#include <lido/\S+>.*\n)?", page, re.MULTILINE)
        if title[1] is None:
            found += [f"{name}: without its header" for name, code, _ in sections(page) if "#include <lido/" not in code]
        faults += [f"{file.name}: {each}" for each in found]
    for each in faults:
        print(f"reference: {each}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
