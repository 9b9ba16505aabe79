#!/usr/bin/env python3
"""Collects the pages of the site: the documents of the tree, the files that they link to, and the API reference.

usage: pages.py API FOLDER

Pages keep their paths, so links between them stay as they are. A link to a source file leads to a page that shows the file.
Also writes `site.json`, which has the version and the side bar; `.vitepress/config.mjs` reads it.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
REPORT = "/report/index.html"  # scripts/docs.sh draws it; not a page of VitePress, so its links leave the application
LINK = re.compile(r"(?<=\]\()([^()\s#]+)(#[^()\s]*)?(?=\))")
FILE_LINK = re.compile(r"\[`?([\w./-]+\.md)`?\]\(([^()\s#]+)")
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".cppm": "cpp", ".c": "c", ".h": "c", ".py": "python", ".sh": "sh", ".md": "md", ".json": "json", ".toml": "toml",
             ".yml": "yaml", ".cmake": "cmake", ".txt": "cmake"}
ALSO_IN = {"tcp_keep_alive": ["lido/hiredis.hpp", "lido/libpq.hpp"]}  # a member of the targets of three headers, and each is enough
# Folder of the headers, heading of the reference.
PARTS = {"object": "Object pools", "allocator": "Object pools", "freelist": "Object pools", "slot_map": "Slot maps", "resource": "Resource pools",
         "connect": "Factories of connections", "pmr": "Blocks", "base": "Errors and statistics", "debug": "Registry and misuse",
         "telemetry": "Metrics and traces", "testing": "Tests of your code"}


def dates():
    """Returns the time of the last commit of each file; nothing outside of a repository."""
    found = {}
    log = subprocess.run(["git", "-C", TREE, "log", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=@%cd", "--name-only"], capture_output=True, text=True, check=False,
                         env={**os.environ, "TZ": "UTC"}).stdout
    date = ""
    for line in log.splitlines():
        if line.startswith("@"):
            date = line[1:]
        elif line:
            found.setdefault(line, date)
    return found


def documents():
    files = [*TREE.glob("*.md"), *(TREE / "docs").rglob("*.md"), *(TREE / "examples").rglob("*.md"), *(TREE / "bench").glob("*.md")]
    return sorted(file.relative_to(TREE) for file in files if HERE not in file.parents)


def fence(match):
    """Drops what the tests do with a snippet, and languages that the highlighter does not know."""
    return "```" + {"meson": "txt"}.get(match[1], match[1])


def summary_of(file):
    """Returns the comment at the top of a program, or the title of a folder."""
    if file.is_dir():
        return title_of((file / "README.md").read_text())
    comment = re.match(r"(?:#!.*\n)?((?:(?://+|#) .*\n)+)|/\*+\s*((?s:.*?))\*/|#!.*\n\"\"\"(.*)\n", file.read_text())
    if comment is None:
        return ""
    text = re.sub(r"^(?://+|#| \*) ", "", next(each for each in comment.groups() if each), flags=re.MULTILINE)
    text = re.sub(r"@file|\[snippet\]|\bUsage:.*", "", text, flags=re.DOTALL)
    return " ".join(text.split()).replace("<", "&lt;").replace("|", "\\|")


def title_of(text):
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1].replace("`", "")


class Site:
    def __init__(self, api, folder):
        self.folder, self.dates, self.shown, self.titles = folder, dates(), set(), {}
        self.types = {file.stem.removeprefix("lido-"): file.stem for file in api.glob("lido-*.md") if "@header" in file.read_text()}

    def write(self, path, text, source=None, **front):
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        head = "".join(f"{key}: {json.dumps(value)}\n" for key, value in front.items())
        if source and str(source) in self.dates:
            head += f"lastUpdated: {self.dates[str(source)]}\n"  # without quotes: VitePress takes a date, but no text and no number
        target.write_text(f"---\n{head}---\n\n{text}")

    def link(self, page, match):
        """Returns the target of a link on this page. Shows the file there, if it is no page."""
        target, anchor = match[1], match[2] or ""
        if target.endswith(REPORT) or re.match(r"[a-z]+:", target):
            return target + anchor
        path = (TREE / page.parent / target).resolve()
        if not path.is_relative_to(TREE) or not path.exists():
            raise SystemExit(f"{page}: dead link {target}")
        path = path.relative_to(TREE)
        if path.suffix == ".md" and HERE not in (TREE / path).parents:
            return target + anchor
        if path.suffix in (".png", ".svg", ".webp"):
            return target
        return re.sub(r"/$", "", target) + self.show(path, anchor)

    def show(self, path, anchor=""):
        """Writes a page with a file of the tree, or with the list of a folder. Returns what a link to it appends."""
        whole = TREE / path
        if whole.is_dir() and (whole / "README.md").exists():
            return "/README.md" + anchor
        if path not in self.shown:
            self.shown.add(path)
            if whole.is_dir():
                names = sorted(each for each in whole.iterdir() if each.suffix in LANGUAGES and each.name != "CMakeLists.txt" or (each / "README.md").exists())
                rows = "".join(f"| [{each.name}]({path.name}/{each.name}{self.show(each.relative_to(TREE))}) | {summary_of(each)} |\n" for each in names)
                self.write(f"{path}.md", f"# {path}\n\n| file | contents |\n|---|---|\n{rows}", path, editLink=False)
            else:
                fence = "````" if path.suffix == ".md" else "```"
                self.write(f"{path}.md", f"# {path}\n\n{fence}{LANGUAGES.get(path.suffix, 'txt')}\n{whole.read_text()}{fence}\n", path, search=False)
        return ".md"

    def add_document(self, page):
        text = (TREE / page).read_text()
        programs = [(TREE / name).read_text() for name in set(re.findall(r"<!-- snippet: (\S+)", text))]
        text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
        text = text.replace("](contention.json.gz)", "](" + "../" * (len(page.parts) - 1) + REPORT[1:] + '){target="_self"}')
        text = re.sub(r"^```(\w+)( .*)?$", fence, text, flags=re.MULTILINE)
        text = re.sub(r'\b(src|srcset)="(?=\w+/)', r'\1="./', text)
        text = FILE_LINK.sub(lambda match: self.titled(page, match), text)
        text = outside_code(text, lambda part: LINK.sub(lambda match: self.link(page, match), part))
        self.titles[page] = title_of(text)
        self.write(page, self.with_reference(page, text, "".join(programs)), page)

    def titled(self, page, match):
        """Replaces a link text that is the name of a page, which means nothing to a reader of the site, by the page's title."""
        path = (TREE / page.parent / match[2]).resolve()
        named = path.exists() and f"/{path}".endswith(f"/{match[1]}")
        return f"[{title_of(path.read_text())}]({match[2]}" if named else match[0]

    def with_reference(self, page, text, programs):
        """Makes the first mention of each public type a link to its entry, unless the programs of the page define a type of this name."""
        linked = set(re.findall(r"^ *(?:class|struct) (\w+)[^;\n]*\{", programs, re.MULTILINE))

        def entry(match):
            name = match[1]
            if name in linked or name not in self.types:
                return match[0]
            linked.add(name)
            return f"[{match[0]}]({'../' * (len(page.parts) - 1) or './'}api/{self.types[name]}.md)"

        parts = re.split(r"(^ *```.*?^ *```$|\[[^\]\n]*\]\([^)\n]*\)|^#[^\n]*$)", text, flags=re.DOTALL | re.MULTILINE)
        return "".join(part if index % 2 else re.sub(r"(?<![`\[])`(\w+)(?:<\w+>)?`(?!`)", entry, part) for index, part in enumerate(parts))

    def add_front_page(self):
        readme = (TREE / "README.md").read_text()
        programs = re.findall(r"\n\n((?:(?!\n\n).)+)\n\n```cpp program\n(.*?)```", readme, re.DOTALL)
        shown = "\n\n".join(f"{words}\n\n```cpp\n{code}```" for words, code in programs)
        intro = re.search(r"\n\n(Lido is .*?)\n\n", readme, re.DOTALL)[1].replace("\n", " ")
        self.write("index.md", (HERE / "front.md.in").read_text().replace("@programs", shown).replace("@intro", re.sub(r"`(.*?)`", r"<code>\1</code>", html.escape(intro))), sidebar=False, title="Lido",
                   titleTemplate=":title")

    def add_reference(self, api):
        """Adds the pages of the API, with the header to include. Returns the entries for the side bar."""
        headers, groups = public_headers(), {}
        for file in sorted(api.glob("lido*.md")):
            text = re.sub(r"\{#([^}]+)\}\n+(#+ .*)", r"\2 {#\1}", file.read_text())
            header = re.search(r"@header (\S+)\n", text)
            if header is None and not re.search(r"^### ", text, re.MULTILINE):
                continue
            name = re.search(r"^# (\S+)", text, re.MULTILINE)[1]
            if header:
                public = own_header(name) or headers.get(header[1], "lido/lido.hpp")
                others = f"  // or {' or '.join(ALSO_IN[name])}" if name in ALSO_IN else ""
                text = re.sub(r"^@include .*\n", "", text.replace(header[0], f"```cpp\n#include <{public}>{others}\n```\n"), flags=re.MULTILINE)
                part = PARTS[header[1].split("/")[1]]
            else:
                part = "Functions, constants and enumerations"
                text = re.sub(r"^# .*", f"# Namespace {file.stem.replace('-', '::')}", text, count=1, flags=re.MULTILINE)
                text = re.sub(r"^@include (\S+)\n+```cpp\n", lambda m: f"```cpp\n#include <{headers.get(m[1], m[1])}>\n\n", text, flags=re.MULTILINE)
            full = file.stem.removeprefix("lido-").replace("-", "::")
            groups.setdefault(part, []).append({"text": full if header else f"namespace {file.stem.replace('-', '::')}", "link": f"/api/{file.stem}"})
            self.write(f"api/{file.name}", tidy_reference(text), title=f"{name} - API reference", outline=[2, 3])
        order = [*dict.fromkeys(PARTS.values()), "Functions, constants and enumerations"]
        bar = [{"text": part, "collapsed": True, "items": groups[part]} for part in order if part in groups]
        rows = "".join(f"\n## {part['text']}\n\n" + "".join(f"- [`{each['text']}`](./{each['link'].rsplit('/', 1)[-1]}.md)\n" for each in part["items"]) for part in bar)
        self.write("api/index.md", f"# API reference\n\nEvery public type, function and member, from the comments of the headers. "
                   f"Macros, such as `LIDO_ASSERT_HANDLER`, are among the [build options](../docs/reference/build-options.md#macros-of-a-program); "
                   f"`LIDO_VERSION` is in `lido/version.hpp`. The C interface, `lido_pool`, has [its own page](../docs/reference/c.md).\n{rows}")
        return bar


def outside_code(text, change):
    """Applies `change` to the parts of a Markdown text that are neither code blocks nor code spans."""
    parts = re.split(r"(^ *```.*?^ *```$|(?<!`)`[^`\n]+`(?!`))", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if index % 2 else change(part) for index, part in enumerate(parts))


def tidy_signature(text):
    """Writes a declaration of Doxygen as the headers write it."""
    text, clause = (text.split(" requires ", 1) + [""])[:2]
    text = re.sub(r"< (?=\S)", "<", text)
    text = re.sub(r"(?<=[^\s=]) >", ">", text)
    text = re.sub(r"(?<=[\w>]) ((?:\*(?!/)|&&?)+)(?=( ?))(\.\.\.)?(\w?)", lambda m: m[1] + (m[3] or "") + (" " if m[4] else "") + m[4], text)
    text = re.sub(r"(\S)\(\* ?(?=\w)", r"\1 (*", text)
    text = re.sub(r"(\w) (\{\w*\})$", r"\1\2", text)
    text = re.sub(r"&&(?=std::)", "&& ", text)
    text = re.sub(r"^enum (?!class)", "enum class ", text)
    head, depth = "", 0
    if text.startswith("template<"):
        for at, letter in enumerate(text):
            depth += {"<": 1, ">": -1}.get(letter, 0)
            if letter == ">" and depth == 0:
                head, text = "template <" + text[len("template<"):at + 1] + "\n", text[at + 1:].strip()
                break
    lines, line, depth = [], "", 0
    for word in re.split(r"(?<=,) ", text):  # breaks long lists of parameters
        if line and depth == 0 and len(line) + len(word) > 88:
            lines.append(line)
            line = "    " + word
        else:
            line = f"{line} {word}" if line else word
        depth += word.count("<") - word.count(">") + word.count("->")
    return head + "\n".join([*lines, line]) + (f"\n    requires {clause}" if clause else "")


def code_span(match):
    """Makes a link of a code span that contains one; of several, the first counts."""
    links = re.findall(r"\[([^\]]+)\]\(([^)]+)\)", match[1])
    label = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"\1", match[1])
    return f"[`{label}`]({links[0][1]})" if links else match[0]


def tidy_reference(text):
    """Tidies declarations, makes links of code spans that contain one, and escapes what would be HTML."""
    parts = re.split(r"(^```cpp\n.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    for at, part in enumerate(parts):
        if at % 2:
            *includes, signature = part[len("```cpp\n"):-len("\n```")].rsplit("\n\n", 1)
            shown = signature if signature.startswith("#") or "\n" in signature else tidy_signature(signature)
            parts[at] = "```cpp\n" + "\n\n".join([*includes, re.sub(r"^template<", "template <", shown)]) + "\n```"
            continue
        part = re.sub(r"(?<!`)`([^`\n]+)`(?!`)", code_span, part)
        part = re.sub(r"^Derives from .*", lambda m: re.sub(r"< (.*?) >", r"<\1>", m[0]), part, flags=re.MULTILINE)
        # What has no page: headers, and what is internal.
        part = re.sub(r"\[([^\]\n]+)\]\(#(?:\w+_8hpp_\w+|\w+hpp|struct\w+|class\w+)\)", r"\1", part)
        part = re.sub(r"^Type: (.*)$", see, part, flags=re.MULTILINE)
        part = re.sub(r"\[(\w+(?:::\w+|\(\))*)\]\(([^)\n]+)\)", r"[`\1`](\2)", part)
        parts[at] = part
    text = "".join(parts)
    name = re.search(r"^# (\S+) \{#(\S+)\}$", text, re.MULTILINE)
    if name:
        text = text.replace(f"[`{name[1]}`](#{name[2]})", f"`{name[1]}`")
    for old, new in (("Public Methods", "Functions"), ("Public Static Methods", "Static functions"), ("Public Attributes", "Members"),
                     ("Public Static Attributes", "Constants"), ("Public Types", "Types"), ("Friends", "Friend functions"), ("Typedefs", "Types"), ("Variables", "Constants")):
        text = re.sub(rf"^## {old}$", f"## {new}", text, flags=re.MULTILINE)
    text = re.sub(r"^(\| \[.*?\) \| .*?[.!?)])(?: (?=[A-Z`]).*)? \|$", r"\1 |", text, flags=re.MULTILINE)  # the first sentence
    text = re.sub(r"\n{3,}", "\n\n", text)
    text = re.sub(r"^\| value \| \|\n\|---\|---\|\n((?:\| `\w+` \|  \|\n)+)", lambda m: f"Values: {', '.join(re.findall('`.*?`', m[1]))}.\n", text, flags=re.MULTILINE)
    text = refer_to_overloads(text)
    text = re.sub(r"^(?=## )", "\n", text, flags=re.MULTILINE)
    text = re.sub(r"\n{3,}", "\n\n", text)
    # A comment at the end of a line becomes a sentence.
    text = re.sub(r"(?<=^```\n\n)((?!```)[a-z`\[][^\n]*)$", lambda m: sentence(m[1]), text, flags=re.MULTILINE)
    text = re.sub(r"^(\| \[`[^\n]*?\]\(#[^)\n]+\) \| )([a-z`\[][^\n]*) \|$", lambda m: f"{m[1]}{sentence(m[2])} |", text, flags=re.MULTILINE)
    return outside_code(text, lambda part: part.replace("<", "&lt;").replace("{{", "&#123;&#123;"))


def refer_to_overloads(text):
    """Says where the comment is that several overloads share."""
    parts, explained = re.split(r"^(?=##)", text, flags=re.MULTILINE), set()
    for at, part in enumerate(parts):
        name = re.match(r"### (.+) \{#", part)
        if name is None:
            continue
        if not part.rstrip().endswith("```"):
            explained.add(name[1])
        elif name[1] in explained:
            parts[at] = f"{part.rstrip()}\n\nAs the function of this name above.\n\n"
    return "".join(parts)


def sentence(text):
    return text[0].upper() + text[1:] + ("" if text[-1] in ".:!?" else ".")


def see(match):
    """Names the types in a declaration."""
    links = dict.fromkeys(re.findall(r"\[`?\w+`?\]\((?:[^)#]+)?#[^)]+\)", match[1]))
    return f"See {', '.join(links)}." if links else ""


def own_header(name):
    """Returns the public header after which the type is named, such as lido/slot_map.hpp for slot_map_options; else None."""
    stems = [header.stem for header in (TREE / "include/lido").glob("*.hpp") if f"{name}_".startswith(f"{header.stem}_")]
    return f"lido/{max(stems, key=len)}.hpp" if stems else None


def public_headers():
    """Returns for each internal header the public one to include: of the same name, or the smallest that includes it."""
    def includes(header):
        return re.findall(r'#include "(lido/[^"]+)"', (TREE / "include" / header).read_text())

    def reach(header, seen):
        for inner in includes(header):
            if inner not in seen:
                seen.add(inner)
                reach(inner, seen)
        return seen

    found = {}
    public = [f"lido/{header.name}" for header in (TREE / "include/lido").glob("*.hpp")]
    reached = {header: reach(header, set()) for header in [*public, "lido/freelist/boost_list.hpp"]}
    # A user who looks for a lease, statistics or an exception has most likely an object pool.
    order = sorted(reached.items(), key=lambda each: (each[0] != "lido/object_pool.hpp", len(each[1]), each[0]))
    for public, inner in order:
        folders = {Path(header).parent for header in includes(public)}
        if public == order[0][0]:
            folders |= {Path("lido/base"), Path("lido/freelist")}
        for header in inner:
            if Path(header).name == Path(public).name:
                found[header] = public
            if Path(header).parent in folders:
                found.setdefault(header, public)
    for public, inner in order:
        for header in [public, *inner]:
            found.setdefault(header, public)
    return found


def side_bar(site):
    """Returns the groups of docs/index.md: the headings of its second level, with the pages that their tables and lists name."""
    bar = []
    for heading, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", (TREE / "docs/index.md").read_text(), re.DOTALL | re.MULTILINE):
        parts = re.split(r"^### (.+)$", body, flags=re.MULTILINE)
        group = {"text": heading.split(":")[0], "collapsed": False, "items": entries(site, parts[0])}
        for inner, rest in zip(parts[1::2], parts[2::2]):
            group["items"].append({"text": inner, "collapsed": True, "items": entries(site, rest)})
        if group["items"]:
            bar.append(group)
    return bar


def entries(site, text):
    pages = dict.fromkeys((Path("docs") / target) for target in re.findall(r"\]\(([^)#]+\.md)\)", text))
    paths = [Path(str((TREE / page).resolve().relative_to(TREE))) for page in pages]
    return [{"text": site.titles[path], "link": f"/{path.with_suffix('')}"} for path in paths if path in site.titles and path != Path("README.md")]


def version():
    text = (TREE / "include/lido/version.hpp").read_text()
    return ".".join(re.search(rf"LIDO_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def main():
    api, folder = Path(sys.argv[1]), Path(sys.argv[2])
    site = Site(api, folder)
    for page in documents():
        site.add_document(page)
    for image in (TREE / "docs/images").iterdir():
        (folder / "docs/images").mkdir(parents=True, exist_ok=True)
        shutil.copy(image, folder / "docs/images")
    site.add_front_page()
    reference = site.add_reference(api)
    bar = side_bar(site)
    explanation = next(group for group in bar if group["text"] == "Explanation")
    explanation["items"].append({"text": "Contention report", "link": REPORT, "target": "_self"})
    project = [{"text": site.titles[Path(name)], "link": f"/{Path(name).with_suffix('')}"} for name in ("CHANGELOG.md", "SECURITY.md")]
    bar[-1]["items"] += project
    shutil.copytree(HERE / "vitepress", folder / ".vitepress", dirs_exist_ok=True)
    (folder / ".vitepress/site.json").write_text(json.dumps({"version": version(), "documents": bar, "reference": reference}))


if __name__ == "__main__":
    main()
