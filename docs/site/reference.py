#!/usr/bin/env python3
"""Writes the pages of the API reference from the XML files that Doxygen wrote.

usage: reference.py XML MOXYGEN FOLDER

Removes what a user cannot call from the XML files: private members, deleted and defaulted functions, friend classes, and
bases that only share code. Then moxygen writes a Markdown page for each class. Returns 1 if a public name has no sentence.
"""
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASES = {"pool_controls", "acquire_forms", "async_forms", "complete_traits", "listener_links"}
# Public because other headers of Lido call them.
INTERNAL = {"async_acquire_at", "async_waits", "hooks_of", "kept_for_later", "keep_if_clean", "acquire_call", "acquire_outcome", "pool_core", "no_hooks", "closer",
            "twin", "position", "source", "anything", "entry", "postgres_result_deleter"}
# The standard says what these are.
STANDARD = {"value_type", "difference_type", "reference", "pointer", "iterator", "const_iterator", "iterator_category", "element_type", "what",
            "propagate_on_container_move_assignment", "propagate_on_container_swap", "is_always_equal", "begin", "end", "size", "empty", "swap"}


def text_of(element, name):
    found = element.find(name)
    return "" if found is None else "".join(found.itertext()).strip()


def is_documented(element):
    return bool(text_of(element, "briefdescription") or text_of(element, "detaileddescription"))


def is_hidden(member):
    """Returns true if a user cannot use the member, or gets it without a declaration."""
    name, signature = member.findtext("name"), member.findtext("argsstring") or ""
    return (member.get("prot") != "public" or member.get("static") == "yes" and name in INTERNAL or name in INTERNAL
            or re.search(r"=\s*(delete|default)$", signature) is not None and not is_documented(member)
            or member.get("kind") == "friend" and not signature or member.get("kind") == "define"
            or name.startswith("~") and not is_documented(member))


def clean(member):
    """Replaces internal names in a declaration."""
    for element in member.iter():
        if element.tag in ("type", "argsstring", "definition", "defval", "declname", "initializer", "requiresclause"):
            for part in element.iter():
                for which in ("text", "tail"):
                    text = getattr(part, which)
                    if text:
                        text = re.sub(r"noexcept\(.*\)", "", text).replace("detail::stop_token", "std::stop_token")
                        text = re.sub(r" requires .*detail::.*", "", text)
                        setattr(part, which, re.sub(r"\bdetail::", "", text))
    parameters = member.find("templateparamlist")
    for parameter in [] if parameters is None else parameters.findall("param"):
        if text_of(parameter, "type") == "class" and text_of(parameter, "defval") == "void" and parameter.find("declname") is None:
            parameters.remove(parameter)
    if parameters is not None and parameters.find("param") is None:
        member.remove(parameters)
    member.set("inline", "no")


def prune(file):
    """Removes hidden members and bases from a file. Returns the public members that are left, or None for an internal class."""
    tree = ElementTree.parse(file)
    compound = tree.getroot().find("compounddef")
    if compound is None or compound.get("kind") not in ("class", "struct", "concept", "namespace"):
        return []
    if compound.findtext("compoundname").rsplit("::", 1)[-1] in INTERNAL | BASES or compound.get("prot", "public") != "public":
        return None
    for base in compound.findall("basecompoundref"):
        if re.sub(r"<.*", "", base.text).strip().rsplit("::", 1)[-1] in BASES or "detail" in base.text:
            compound.remove(base)
    for each in compound.findall("listofallmembers") + compound.findall("innerclass"):
        if each.tag == "listofallmembers" or each.get("prot") != "public" or each.text.rsplit("::", 1)[-1] in INTERNAL | BASES:
            compound.remove(each)
    left = []
    for section in compound.findall("sectiondef"):
        for member in section.findall("memberdef"):
            if is_hidden(member):
                section.remove(member)
            else:
                clean(member)
                if not member.get("id").startswith(compound.get("id") + "_1"):  # a function of a base, which other classes have, too
                    member.set("id", f"{compound.get('id')}_1{member.get('id').rsplit('_1', 1)[-1]}")
                left.append(member)
        if section.find("memberdef") is None:
            compound.remove(section)
    tree.write(file, encoding="utf-8", xml_declaration=True)
    return left


def main():
    xml, moxygen, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    bare = []
    for file in sorted(xml.glob("*.xml")):
        members = prune(file)
        if members is None:
            file.unlink()
            continue
        documented = {member.findtext("name") for member in members if is_documented(member)}
        for member in members:
            if not is_documented(member) and member.findtext("name") not in STANDARD | documented:
                bare.append(f"{member.findtext('qualifiedname') or member.findtext('definition')}: {member.find('location').get('file')}")
    index = xml / "index.xml"
    tree = ElementTree.parse(index)
    for compound in tree.getroot().findall("compound"):
        file = xml / f"{compound.get('refid')}.xml"
        if not file.exists():
            tree.getroot().remove(compound)
            continue
        for member in compound.findall("member"):
            compound.remove(member)
        for member in ElementTree.parse(file).getroot().iter("memberdef"):
            entry = ElementTree.SubElement(compound, "member", refid=member.get("id"), kind=member.get("kind"))
            ElementTree.SubElement(entry, "name").text = member.findtext("name")
    tree.write(index, encoding="utf-8", xml_declaration=True)
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([moxygen, "--classes", "--anchors", "--quiet", "--templates", str(HERE / "templates"), "--logfile", str(xml / "moxygen.log"),
                    "--output", str(folder / "%s.md"), str(xml)], check=True)
    for name in bare:
        print(f"no sentence: {name}", file=sys.stderr)
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
